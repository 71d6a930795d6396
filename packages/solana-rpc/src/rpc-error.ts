/**
 * Why a call failed: `unreachable` no connection, or it broke; `timeout` no answer in time; `http-status` a status other
 * than 2xx; `invalid-answer` not JSON-RPC; `node-error` the node answered the call with an error.
 */
export type RpcErrorReason = 'unreachable' | 'timeout' | 'http-status' | 'invalid-answer' | 'node-error';

interface RpcErrorDetails {
  readonly reason: RpcErrorReason;
  readonly host: string;
  readonly text: string;
  readonly status?: number;
  readonly code?: number;
  readonly transactionError?: string | null;
  readonly cause?: Error;
}

/** A failed JSON-RPC call. Message and causes contain no more of the URL than its host. */
export class RpcError extends Error {
  readonly reason: RpcErrorReason;
  /** Host and port of the node. */
  readonly host: string;
  /** HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** JSON-RPC error code; null unless `reason` is `node-error`. */
  readonly code: number | null;
  /** The TransactionError as JSON text; null if the node's error is not about a transaction. */
  readonly transactionError: string | null;

  constructor({ reason, host, text, status, code, transactionError, cause }: RpcErrorDetails) {
    super(text, cause && { cause });
    this.name = 'RpcError';
    this.reason = reason;
    this.host = host;
    this.status = status ?? null;
    this.code = code ?? null;
    this.transactionError = transactionError ?? null;
  }

  /** Makes the error of a JSON-RPC answer, in the node's own words. */
  static fromNode(
    error: { readonly code: number; readonly message: string; readonly data: unknown },
    { host, status }: { readonly host: string; readonly status: number },
  ): RpcError {
    const { code, message, data } = error;
    const transactionError = transactionErrorIn(data);
    const text = `${message} (${code})${transactionError === null ? '' : `: ${transactionError}`}`;
    return new RpcError({ reason: 'node-error', host, status, code, transactionError, text });
  }
}

/**
 * Creates a function that removes from a text what a URL may keep secret: path, query, user, password and fragment. Nodes
 * and proxies like to repeat the address that they refuse.
 */
export function createRedactor(url: URL): (text: string) => string {
  const { pathname, search, searchParams, username, password, hash } = url;
  const long = [...pathname.split('/'), search.slice(1), hash.slice(1)].filter(
    (part) => part.length >= SHORTEST_PATH_SECRET,
  );
  const short = [...searchParams.values(), username, password].filter((part) => part.length >= SHORTEST_SECRET);
  const secrets = [...long, ...short].flatMap((secret) => [secret, decode(secret), encodeURIComponent(secret)]);
  // The longest first: a secret may contain another one.
  const ordered = [...new Set(secrets)].toSorted((a, b) => b.length - a.length);
  return (text) => ordered.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

// Shorter parts of a path are words like `v2` or `rpc`.
const SHORTEST_PATH_SECRET = 8;
const SHORTEST_SECRET = 4;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded: the text as it is has been taken already.
    return text;
  }
}

function transactionErrorIn(data: unknown): string | null {
  if (typeof data !== 'object' || data === null || !('err' in data)) return null;
  return transactionErrorText(data.err);
}

/** Writes a TransactionError as JSON text; null if there is none. Kit has turned its integers into bigints. */
export function transactionErrorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  // Positions are u8 and custom codes u32, so every bigint among them is exact as a number.
  return JSON.stringify(error, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}
