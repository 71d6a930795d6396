import type { RpcResponse, RpcTransport } from '@solana/kit';
import { parseJson } from './json.ts';
import { MAX_ANSWER_BYTES, readText } from './read-text.ts';
import { createRedactor, RpcError } from './rpc-error.ts';
import { sleep } from './sleep.ts';

/** Options of a transport to one node. */
export interface TransportOptions {
  /** A user and password in the URL are sent as Basic authorization. */
  readonly url: string;
  /** How long one attempt may take, the answer's body included; 10 s by default. */
  readonly timeoutMs?: number;
  /** Attempts, the first included; 4 by default. Use 1 for a method that must not be sent twice. */
  readonly maxAttempts?: number;
  /** Limits the rate of requests, further attempts included; no limit by default. */
  readonly pacer?: Pacer;
  /** Receives a warning before each further attempt. It fits a pino logger. */
  readonly log?: Warn;
  /** Receives the headers of each answer, also of a refusal: providers announce the limits of requests there. */
  readonly onHeaders?: (headers: Headers) => void;
  /** Sends each request; `fetch` by default. */
  readonly post?: Post;
  /** Waits between attempts; real time by default. */
  readonly clock?: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
}

/**
 * Posts a body and resolves with the whole answer, whatever its status. Rejects with the error of the connection, for an answer
 * above `MAX_ANSWER_BYTES`, or when the signal is aborted.
 */
export type Post = (url: string, request: PostRequest) => Promise<PostAnswer>;

/** A request that a transport posts. */
export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** An answer, whatever its status. */
export interface PostAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly text: string;
}

/** Starts callers one at a time, in their order. */
export interface Pacer {
  /** Resolves at the caller's turn. */
  awaitTurn(): Promise<void>;
  /** Resolves when no caller waits for its turn any more. */
  awaitIdle(): Promise<void>;
}

/** Creates a pacer that starts each caller `intervalMs` after the one before. */
export function createPacer(intervalMs: number, clock: NonNullable<TransportOptions['clock']> = { sleep }): Pacer {
  let last = Promise.resolve();
  let free = Promise.resolve();
  return {
    awaitTurn: () => {
      last = free;
      free = last.then(() => clock.sleep(intervalMs));
      return last;
    },
    awaitIdle: async () => {
      for (let seen = null; seen !== last; ) {
        seen = last;
        await seen;
      }
    },
  };
}

/** Receives warnings; a pino logger fits. */
export interface Warn {
  warn(fields: object, message: string): void;
}

// A healthy RPC node answers within two seconds. A node that needs more than this should be asked again.
const TIMEOUT_MS = 10_000;
// Waits of 0.25, 0.5 and 1 s bridge the restart of a proxy. A longer outage is for the caller to handle.
const MAX_ATTEMPTS = 4;
const FIRST_BACKOFF_MS = 250;
// If the server asks for a longer pause, the attempt counts as the last.
const MAX_RETRY_AFTER_MS = 10_000;

/**
 * Creates a JSON-RPC transport for kit's `createSolanaRpcFromTransport` or `callRpc`. Every attempt has a deadline.
 * HTTP 429 and 5xx, timeouts and broken connections are retried with growing waits, or after `Retry-After` (seconds).
 *
 * Kit's own transport is not used: it drops the body of a refused request, where providers give the reason, and
 * `fetch` rejects a URL with a user and password, quoting it in full.
 * @throws RpcError from each call. Its text, and that of its causes, contains no more of the URL than the host.
 * @throws RangeError if the URL is not valid.
 *
 * @example
 * const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: 'https://api.mainnet-beta.solana.com' }));
 */
export function createRpcTransport(options: TransportOptions): RpcTransport {
  const { timeoutMs = TIMEOUT_MS, maxAttempts = MAX_ATTEMPTS, pacer, log, onHeaders, clock = { sleep } } = options;
  const { post = postByFetch } = options;
  const endpoint = endpointOf(options.url);
  return async <TResponse>({ payload, signal }: Parameters<RpcTransport>[0]): Promise<RpcResponse<TResponse>> => {
    const body = stringifyJson(payload);
    for (let attempt = 1; ; attempt += 1) {
      await pacer?.awaitTurn();
      signal?.throwIfAborted();
      const count = `(attempt ${attempt} of ${maxAttempts})`;
      const { error, answer, retryAfterMs } = await attemptCall<TResponse>(endpoint, {
        ...{ body, signal, timeoutMs, count, onHeaders, post },
      });
      if (!error) return answer;
      const waitMs = retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1);
      if (!isTransient(error) || attempt === maxAttempts || waitMs > MAX_RETRY_AFTER_MS) throw error;
      log?.warn({ host: endpoint.host, attempt, waitMs, err: error }, 'RPC request failed; retrying');
      await clock.sleep(waitMs, signal);
    }
  };
}

/**
 * Calls one JSON-RPC method and returns its result as the node sent it, unchecked. Integers above 2^53 are bigints.
 * @throws RpcError; the signal's reason if it is aborted.
 *
 * @example
 * const slot = await callRpc(transport, 'getSlot', [{ commitment: 'confirmed' }]);
 */
export async function callRpc(
  transport: RpcTransport,
  method: string,
  params: readonly unknown[] = [],
  signal?: AbortSignal,
): Promise<unknown> {
  const payload = { jsonrpc: '2.0', id: 1, method, params };
  const { result } = await transport<{ readonly result?: unknown }>({ payload, signal });
  return result;
}

interface Endpoint {
  readonly host: string;
  /** Without user and password, which `fetch` rejects. */
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly redact: (text: string) => string;
}

function endpointOf(text: string): Endpoint {
  if (!URL.canParse(text)) throw new RangeError('The RPC URL is not a valid URL.');
  const url = new URL(text);
  const { host, username, password } = url;
  const redact = createRedactor(url);
  const credentials = new TextEncoder().encode(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const hasUser = username + password !== '';
  url.username = '';
  url.password = '';
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json; charset=utf-8',
    ...(hasUser && { authorization: `Basic ${btoa(String.fromCharCode(...credentials))}` }),
  };
  return { host, href: url.href, headers, redact };
}

interface Attempt {
  readonly body: string;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly onHeaders: TransportOptions['onHeaders'];
  readonly post: Post;
  /** Which attempt this is, for the error's text. */
  readonly count: string;
}

type Outcome<TResponse> =
  | { readonly error: null; readonly answer: RpcResponse<TResponse>; readonly retryAfterMs: null }
  | { readonly error: RpcError; readonly answer: null; readonly retryAfterMs: number | null };

/** Characters of a refused request's body that an error quotes. */
const MAX_QUOTED_CHARACTERS = 300;

async function attemptCall<TResponse>(
  { host, href, headers, redact }: Endpoint,
  { body, signal, timeoutMs, onHeaders, count, post }: Attempt,
): Promise<Outcome<TResponse>> {
  const failed = (error: RpcError, retryAfterMs: number | null = null) => ({ error, answer: null, retryAfterMs });
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: PostAnswer;
  try {
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    response = await post(href, { headers, body, signal: either });
    onHeaders?.(response.headers);
  } catch (error) {
    signal?.throwIfAborted();
    if (timeout.aborted) {
      return failed(
        new RpcError({ reason: 'timeout', host, text: `${host} gave no answer within ${timeoutMs} ms ${count}` }),
      );
    }
    const cause = connectionError(error, redact);
    return failed(
      new RpcError({ reason: 'unreachable', host, text: `${host} is unreachable: ${cause.message} ${count}`, cause }),
    );
  }
  const { status, text } = response;
  const answer = parseAnswer(text);
  if (status < 200 || status > 299) {
    // JSON-RPC over HTTP may send its error with another status; then the body is the reason too.
    const quoted = redact(text).slice(0, MAX_QUOTED_CHARACTERS) || response.statusText;
    const error = new RpcError({
      reason: 'http-status',
      host,
      status,
      text: `${host} answered HTTP ${status}: ${quoted} ${count}`,
    });
    return failed(error, retryAfterMs(response));
  }
  const nodeError = answer && errorIn(answer);
  if (nodeError)
    return failed(RpcError.fromNode({ ...nodeError, message: redact(nodeError.message) }, { host, status }));
  if (answer === null || nodeError === undefined || !('result' in answer)) {
    const quoted = redact(text).slice(0, MAX_QUOTED_CHARACTERS);
    return failed(
      new RpcError({
        reason: 'invalid-answer',
        host,
        status,
        text: `${host} did not answer with JSON-RPC: ${quoted} ${count}`,
      }),
    );
  }
  // A transport's type promises the shape of the result; only the caller can check it.
  return { error: null, answer: answer as RpcResponse<TResponse>, retryAfterMs: null };
}

async function postByFetch(url: string, request: PostRequest): Promise<PostAnswer> {
  const response = await fetch(url, { method: 'POST', ...request });
  const { status, statusText, headers } = response;
  const text = await readText(response);
  if (text === null) throw new Error(`The answer is larger than ${MAX_ANSWER_BYTES} bytes.`);
  return { status, statusText, headers, text };
}

/** `fetch` reports every broken connection as a TypeError; its cause names the reason. Neither is passed on as it is. */
function connectionError(error: unknown, redact: (text: string) => string): Error {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const redacted = new Error(redact(String(cause)));
  redacted.stack = redacted.message;
  return redacted;
}

function retryAfterMs(response: PostAnswer): number | null {
  const retryAfter = response.headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : null;
}

function isTransient({ reason, status }: RpcError): boolean {
  switch (reason) {
    case 'timeout':
    case 'unreachable':
      return true;
    case 'http-status':
      return status === 429 || (status ?? 0) >= 500;
    case 'invalid-answer':
    case 'node-error':
      return false;
    default:
      return reason satisfies never;
  }
}

/** Kit's own bigints become numbers: it has already refused those that a number cannot carry. */
function stringifyJson(payload: unknown): string {
  return JSON.stringify(payload, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

/** Reads an answer, in which integers above 2^53 are bigints; kit converts the others. null if it is not an object. */
function parseAnswer(text: string): object | null {
  try {
    const answer = parseJson(text);
    return typeof answer === 'object' ? answer : null;
  } catch {
    // A proxy's page, not a node's answer. The caller quotes it.
    return null;
  }
}

/** The error of a JSON-RPC answer; null if there is none, undefined if it is not as JSON-RPC defines it. */
function errorIn(answer: object): { code: number; message: string; data: unknown } | null | undefined {
  if (!('error' in answer) || answer.error === null) return null;
  const { error } = answer;
  if (typeof error !== 'object' || error === undefined) return undefined;
  const { code, message, data } = error as { readonly [key: string]: unknown };
  return typeof code === 'number' && typeof message === 'string' ? { code, message, data } : undefined;
}
