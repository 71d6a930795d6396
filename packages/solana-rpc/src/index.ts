export * from './error-codes.ts';
export { parseJson } from './json.ts';
export { callLocalnet, createMint, type Funding, fundAccount, LOCAL_RPC_URL } from './localnet.ts';
export * from './nodes.ts';
export * from './read-text.ts';
export { RpcError, type RpcErrorReason, transactionErrorText } from './rpc-error.ts';
export * from './sleep.ts';
export * from './transport.ts';
