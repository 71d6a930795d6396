/** An error in a JSON-RPC response. Codes are JSON-RPC's own or Solana's (rpc-client-api, custom_error.rs). */
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

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const BLOCK_CLEANED_UP = -32001;
export const BLOCK_NOT_AVAILABLE = -32004;
export const PREFLIGHT_FAILURE = -32002;
export const NO_SNAPSHOT = -32008;
export const TRANSACTION_HISTORY_NOT_AVAILABLE = -32011;
export const UNSUPPORTED_TRANSACTION_VERSION = -32015;
export const MIN_CONTEXT_SLOT_NOT_REACHED = -32016;
export const FILTER_TRANSACTION_NOT_FOUND = -32020;

export function invalidParams(reason: string): RpcError {
  return new RpcError(INVALID_PARAMS, `Invalid params: ${reason}`);
}
