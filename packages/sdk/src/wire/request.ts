import type { Operation, OperationReply, OperationRequest } from '@flywheel/api';
import { FlywheelError } from '../errors.ts';
import { readReply } from './read-reply.ts';
import { type Retry, repeat } from './repeat.ts';

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

const DEFAULT_TIMEOUT_MS = 30_000;
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
  const { maxAttempts, onRetry } = connection;
  const mayRepeat = (error: FlywheelError) => isWorthRepeating(error, options);
  return repeat({ maxAttempts, onRetry, mayRepeat, signal: options.signal }, () =>
    sendOnce(connection, operation, request, options),
  );
}

async function sendOnce<O extends Operation>(
  connection: Connection,
  operation: O,
  request: RequestParts,
  options: SendOptions,
): Promise<OperationReply<O>> {
  const bodyText = options.bodyText ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const target = targetOf(connection, operation, request);
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

/** Where an operation is asked for. */
export function targetOf(
  { url }: Pick<Connection, 'url'>,
  operation: Pick<Operation, 'path'>,
  { params = {}, query = {} }: RequestParts,
): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams(present(query)).toString();
  return `${url.replace(/\/+$/, '')}${search === '' ? path : `${path}?${search}`}`;
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

function isWorthRepeating({ code, status, retryAfterSeconds }: FlywheelError, { repeatable }: SendOptions): boolean {
  // A 429 or 503 that names a time was refused before anything was done.
  if ((status === 429 || status === 503) && retryAfterSeconds !== null) return true;
  if (!repeatable) return false;
  return code === 'ERR_UNREACHABLE' || code === 'ERR_TIMED_OUT' || (status !== null && PASSING_STATUSES.has(status));
}
