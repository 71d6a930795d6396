import { ErrorBody, type Operation, type OperationReply, type OperationRequest, SHARD_HEADER } from '@flywheel/api';
import { firstParseIssue, tryParseJson } from '@flywheel/protocol';
import { MAX_ANSWER_BYTES, readText } from '@flywheel/solana-rpc';
import { FlywheelError, isErrorCode } from '../errors.ts';
import { type Retry, readRetryAfter, retry } from './retry.ts';

/** Address of the service and settings of the connection. */
export interface Connection {
  /** Base address of the service, e.g. `https://flywheel.example.com`. */
  readonly url: string;
  /** The global `fetch` by default. */
  readonly fetch?: typeof fetch;
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string };
  /** Attempts per call, the first included; 4 by default. */
  readonly maxAttempts?: number;
  /** Called before each wait for another attempt. */
  readonly onRetry?: (retry: Retry) => void;
}

/** Options of one call. */
export interface SendOptions {
  /** True if sending the request twice has the effect of sending it once. Then lost answers are requested again. */
  readonly repeatable: boolean;
  /** Sent instead of `body`, byte for byte, so that numbers keep their digits. */
  readonly bodyText?: string;
  /** Deadline of one attempt; 30 s by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Asked before each further attempt that would be made: false answers the error at once. Always true by default. */
  readonly mayRetry?: (error: FlywheelError) => boolean;
}

/** The parts of an operation's request. */
export interface RequestParts {
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly params?: { readonly [name: string]: unknown };
  readonly query?: { readonly [name: string]: unknown };
  readonly body?: unknown;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Statuses of a gateway, or of an outage that passes. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/**
 * Sends one operation and returns its documented reply. It retries after `Retry-After`, and, if `repeatable`, after lost
 * connections and 5xx answers.
 * @throws FlywheelError with the service's code, or a client code if the answer is missing or not documented.
 * @throws the signal's reason if it is aborted; RangeError as `createFlywheelClient`, if the URL is none for requests.
 */
export async function sendRequest<O extends Operation>(
  connection: Connection,
  operation: O,
  request: OperationRequest<O> & RequestParts,
  options: SendOptions,
): Promise<OperationReply<O>> {
  requireUrl(connection);
  const { maxAttempts, onRetry } = connection;
  const mayRetry = (error: FlywheelError) => isWorthRetrying(error, options) && (options.mayRetry?.(error) ?? true);
  return retry({ maxAttempts, onRetry, mayRetry, signal: options.signal }, () =>
    sendOnce(connection, operation, request, options),
  );
}

/** Requires a URL that requests can be sent to. @throws RangeError that does not quote it: it may have a password. */
export function requireUrl({ url }: Pick<Connection, 'url'>): void {
  // A path is one of the page's own origin, in a browser.
  if (!/^(https?:\/\/|\/|$)/i.test(url)) throw new RangeError('url does not begin with http:// or https://.');
  // `fetch` rejects it, and its error quotes the password.
  if (/^[^/]*\/\/+[^/?#]*@/.test(url)) throw new RangeError('url has a user or password. Pass them in headers.');
}

/** Builds the URL of an operation. */
export function urlOf(
  { url }: Pick<Connection, 'url'>,
  operation: Pick<Operation, 'path'>,
  { params = {}, query = {} }: RequestParts,
): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams(defined(query)).toString();
  return `${url.replace(/\/+$/, '')}${search === '' ? path : `${path}?${search}`}`;
}

/**
 * Reads an answer as its operation documents it.
 * @throws FlywheelError with the service's code, or `ERR_UNEXPECTED_REPLY`.
 */
function readReply<O extends Operation>(operation: O, response: Response, text: string | null): OperationReply<O> {
  const { status } = response;
  const expected = operation.responses[status];
  if (!expected || text === null) throw errorOf(operation, response, text);
  const body = tryParseJson(text);
  const checked = expected.schema.safeParse(body);
  if (!checked.success) {
    const { place, message } = firstParseIssue(checked.error, 'the body');
    throw unexpected(operation, response, `${place}: ${message}`);
  }
  // The status is one that the operation documents, and the body satisfies its schema. The body is returned as it came,
  // so that fields newer than this client are not lost.
  return { status, body, headers: Object.fromEntries(response.headers) } as OperationReply<O>;
}

async function sendOnce<O extends Operation>(
  connection: Connection,
  operation: O,
  request: RequestParts,
  options: SendOptions,
): Promise<OperationReply<O>> {
  const bodyText = options.bodyText ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  let response: Response;
  let text: string | null;
  try {
    response = await (connection.fetch ?? fetch)(urlOf(connection, operation, request), {
      method: operation.method,
      headers: {
        accept: 'application/json',
        ...(operation.method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...connection.headers,
        ...defined(request.headers ?? {}),
      },
      ...(bodyText === undefined ? {} : { body: bodyText }),
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    });
    text = await readText(response);
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw connectionError(connection.url, timeout.aborted, options, cause);
  }
  return readReply(operation, response, text);
}

function defined(values: { readonly [name: string]: unknown }): { [name: string]: string } {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function connectionError(url: string, timedOut: boolean, { timeoutMs }: SendOptions, cause: unknown): FlywheelError {
  if (!timedOut) return new FlywheelError({ code: 'ERR_UNREACHABLE', message: `No service answers at ${url}.`, cause });
  const seconds = (timeoutMs ?? DEFAULT_TIMEOUT_MS) / 1_000;
  return new FlywheelError({ code: 'ERR_TIMED_OUT', message: `${url} did not answer within ${seconds} s.`, cause });
}

function isWorthRetrying({ code, status, retryAfterSeconds }: FlywheelError, { repeatable }: SendOptions): boolean {
  // With a time to wait, these were answered before anything was done; a 409 while a member of the multisig is replaced.
  if ((status === 429 || status === 503 || status === 409) && retryAfterSeconds !== null) return true;
  if (!repeatable) return false;
  return code === 'ERR_UNREACHABLE' || code === 'ERR_TIMED_OUT' || (status !== null && TRANSIENT_STATUSES.has(status));
}

/**
 * Creates the error of an answer whose status the operation does not document, or that is too large.
 * @param text null if it is larger than `MAX_ANSWER_BYTES`.
 */
export function errorOf(operation: Operation, response: Response, text: string | null): FlywheelError {
  if (text === null) return unexpected(operation, response, `more than ${MAX_ANSWER_BYTES} bytes`);
  const body = tryParseJson(text);
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success || !isErrorCode(parsed.data.error)) {
    const found = parsed.success ? `${parsed.data.error}: ${parsed.data.message}` : 'no error body';
    return unexpected(operation, response, found);
  }
  return new FlywheelError({
    code: parsed.data.error,
    message: parsed.data.message,
    problems: parsed.data.problems ?? [],
    cap: parsed.data.cap ?? null,
    ...detailsOf(response),
  });
}

function unexpected(operation: Operation, response: Response, found: string): FlywheelError {
  return new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: `${operation.method} ${operation.path} answered ${response.status} with something that this client does not know (${found}).`,
    ...detailsOf(response),
  });
}

function detailsOf(response: Response) {
  const { status, headers } = response;
  return {
    status,
    requestId: headers.get('x-request-id'),
    retryAfterSeconds: readRetryAfter(response),
    shard: headers.get(SHARD_HEADER),
  };
}
