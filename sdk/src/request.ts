import { ErrorBody, type Operation, type OperationReply, type OperationRequest } from '@flywheel/api';
import { FlywheelError, isErrorCode, isFlywheelError } from './errors.ts';

/** Where the service is and how to talk to it. */
export interface Connection {
  /** Base address of the service, e.g. `https://flywheel.example.com`. */
  readonly url: string;
  /** The global one by default. */
  readonly fetch?: typeof fetch;
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string };
  /** Attempts per call, the first included; 4 by default. */
  readonly maxAttempts?: number;
  /** Told before each wait for another attempt. */
  readonly onRetry?: (retry: Retry) => void;
}

export interface Retry {
  readonly error: FlywheelError;
  readonly waitMs: number;
}

export interface SendOptions {
  /** True if sending the request twice does no more than sending it once: then lost answers are asked for again. */
  readonly repeatable: boolean;
  /** Sent instead of `body`, byte for byte, so that numbers keep their digits. */
  readonly bodyText?: string;
  /** For one attempt; 30 s by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What any operation’s request is made of. */
export interface RequestParts {
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly params?: { readonly [name: string]: unknown };
  readonly query?: { readonly [name: string]: unknown };
  readonly body?: unknown;
}

const DEFAULT_MAX_ATTEMPTS = 4;
const DEFAULT_TIMEOUT_MS = 30_000;
/** The longest window of the service’s rate limits is a minute; a longer wait is the caller’s to decide. */
const MAX_RETRY_AFTER_SECONDS = 60;
const FIRST_BACKOFF_MS = 250;
/** Refused by a gateway, or for a reason that passes: worth another attempt if repeating is safe. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/**
 * Sends one operation and answers its documented reply. Repeats after `Retry-After`, and, when `repeatable`, after
 * lost connections and 5xx answers.
 * @throws FlywheelError with the service’s code, or a client code when no answer of the wire came back.
 * @throws the signal’s reason when aborted.
 */
export async function sendRequest<O extends Operation>(
  connection: Connection,
  operation: O,
  request: OperationRequest<O> & RequestParts,
  options: SendOptions,
): Promise<OperationReply<O>> {
  const maxAttempts = connection.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(connection, operation, request, options);
    } catch (error) {
      if (!isFlywheelError(error) || attempt >= maxAttempts || !mayRepeat(error, options)) throw error;
      const waitMs = error.retryAfterSeconds === null ? backoffMs(attempt) : error.retryAfterSeconds * 1_000;
      connection.onRetry?.({ error, waitMs });
      await sleep(waitMs, options.signal);
    }
  }
}

/** Resolves after so many milliseconds. @throws the signal’s reason when aborted. */
export function sleep(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, waitMs);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

async function sendOnce<O extends Operation>(
  connection: Connection,
  operation: O,
  request: RequestParts,
  options: SendOptions,
): Promise<OperationReply<O>> {
  const bodyText = options.bodyText ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const target = `${connection.url.replace(/\/+$/, '')}${pathOf(operation.path, request)}`;
  const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await (connection.fetch ?? fetch)(target, {
      method: operation.method,
      headers: {
        accept: 'application/json',
        ...(operation.method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...connection.headers,
        ...present(request.headers ?? {}),
      },
      ...(bodyText === undefined ? {} : { body: bodyText }),
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    });
    text = await response.text();
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw lostConnection(connection.url, timeout.aborted, options, cause);
  }
  return readReply(operation, response, text);
}

function pathOf(template: string, { params = {}, query = {} }: RequestParts): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams(present(query)).toString();
  return search === '' ? path : `${path}?${search}`;
}

function present(values: { readonly [name: string]: unknown }): { [name: string]: string } {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function lostConnection(url: string, timedOut: boolean, { timeoutMs }: SendOptions, cause: unknown): FlywheelError {
  if (!timedOut) return new FlywheelError({ code: 'ERR_UNREACHABLE', message: `No service answers at ${url}.`, cause });
  const seconds = (timeoutMs ?? DEFAULT_TIMEOUT_MS) / 1_000;
  return new FlywheelError({ code: 'ERR_TIMED_OUT', message: `${url} did not answer within ${seconds} s.`, cause });
}

function readReply<O extends Operation>(operation: O, response: Response, text: string): OperationReply<O> {
  const { status } = response;
  const body = parseJson(text);
  const expected = operation.responses[status];
  if (!expected) throw failure(operation, response, body);
  const checked = expected.schema.safeParse(body);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw unexpected(operation, response, `${issue?.path.join('.') || 'the body'}: ${issue?.message}`);
  }
  // The status is one the operation documents and the body has just satisfied its schema. The body is handed on as it
  // came, so that fields newer than this client are not lost.
  return { status, body, headers: Object.fromEntries(response.headers) } as OperationReply<O>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no answer of the wire: the schema check that follows says so.
    return undefined;
  }
}

function failure(operation: Operation, response: Response, body: unknown): FlywheelError {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success || !isErrorCode(parsed.data.error)) {
    return unexpected(
      operation,
      response,
      parsed.success ? `${parsed.data.error}: ${parsed.data.message}` : 'no error body',
    );
  }
  return new FlywheelError({
    code: parsed.data.error,
    message: parsed.data.message,
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: retryAfterSeconds(response),
  });
}

function unexpected(operation: Operation, response: Response, problem: string): FlywheelError {
  return new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: `${operation.method} ${operation.path} answered ${response.status} with something this client does not know (${problem}).`,
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: retryAfterSeconds(response),
  });
}

/** Retry-After is seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterSeconds({ headers }: Response): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Number(value);
  const untilMs = Date.parse(value) - Date.now();
  return Number.isNaN(untilMs) ? null : Math.max(0, Math.ceil(untilMs / 1_000));
}

function mayRepeat({ code, status, retryAfterSeconds }: FlywheelError, { repeatable }: SendOptions): boolean {
  if (retryAfterSeconds !== null && retryAfterSeconds > MAX_RETRY_AFTER_SECONDS) return false;
  // A 429 or 503 that names a time was refused before anything was done.
  if ((status === 429 || status === 503) && retryAfterSeconds !== null) return true;
  if (!repeatable) return false;
  return code === 'ERR_UNREACHABLE' || code === 'ERR_TIMED_OUT' || (status !== null && PASSING_STATUSES.has(status));
}

/** Doubles each time; the random half keeps clients that failed together from coming back together. */
function backoffMs(attempt: number): number {
  const ceilingMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  return ceilingMs / 2 + Math.random() * (ceilingMs / 2);
}
