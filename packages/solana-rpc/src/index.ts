export { RpcError, type RpcErrorReason } from './rpc-error.ts';
export * from './transport.ts';
