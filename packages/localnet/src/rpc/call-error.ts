import { INVALID_PARAMS } from '@flywheel/solana-rpc';

/** An error that the cluster answers to a JSON-RPC call. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: number;
  /** Member `data` of the error response. */
  readonly details: unknown;

  constructor(code: number, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export function invalidParams(reason: string): CallError {
  return new CallError(INVALID_PARAMS, `Invalid params: ${reason}`);
}
