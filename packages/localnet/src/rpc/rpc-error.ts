import { INVALID_PARAMS } from '@flywheel/solana-rpc';

/** An error in a JSON-RPC response. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** Member `data` of the error response. */
  readonly details: unknown;

  constructor(code: number, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export function invalidParams(reason: string): RpcError {
  return new RpcError(INVALID_PARAMS, `Invalid params: ${reason}`);
}
