import { setTimeout as sleep } from 'node:timers/promises';
import type { RpcResponse, RpcTransport } from '@solana/kit';
import type { Clock } from '../../model/clock.ts';
import { RpcRefusal, refusalIn } from './refusal.ts';

export interface TransportOptions {
  readonly url: string;
  /** For the waits between tries. Real time by default. */
  readonly clock?: Pick<Clock, 'sleep'>;
  readonly log?: Warn;
  /** How long a try may take, the answer’s body included. */
  readonly timeoutMs?: number;
  /** The least time between the starts of two requests; 0 for no limit. */
  readonly intervalMs?: number;
}

export interface Warn {
  warn(fields: object, message: string): void;
}

/** A healthy RPC node answers within two seconds; one that takes longer than this is better asked again. */
const TIMEOUT_MS = 10_000;
/** Waits of 0.25, 0.5 and 1 s bridge a restarting proxy. Longer trouble is for the caller to retry, from fresh facts. */
const MAX_TRIES = 4;
const FIRST_BACKOFF_MS = 250;
/** A server that asks for a longer pause than this is not waited for. */
const MAX_RETRY_AFTER_MS = 10_000;
/** As much of a refusal’s body as a log line bears. */
const QUOTED_CHARACTERS = 300;

/**
 * JSON over HTTP for kit’s RPC client: every try times out; HTTP 429 and 5xx, timeouts and broken connections are tried
 * again a few times, honouring Retry-After in seconds. What is sent must bear being sent twice.
 * A node’s refusal is thrown as RpcRefusal. The errors never quote the URL beyond its host: the rest may hold an API key.
 */
export function createRpcTransport(options: TransportOptions): RpcTransport {
  const { url, clock = { sleep: wait }, log, timeoutMs = TIMEOUT_MS, intervalMs = 0 } = options;
  const { host } = new URL(url);
  const turn = createTurnstile(clock, intervalMs);
  return async ({ payload, signal }) => {
    const body = stringifyJson(payload);
    for (let tries = 1; ; tries += 1) {
      await turn();
      signal?.throwIfAborted();
      try {
        const timeout = AbortSignal.timeout(timeoutMs);
        return parseJson(await post(url, body, signal ? AbortSignal.any([signal, timeout]) : timeout));
      } catch (error) {
        if (error instanceof RpcRefusal) throw error;
        signal?.throwIfAborted();
        const fault = describe(error, timeoutMs);
        const waitMs = fault.retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (tries - 1);
        if (!fault.passing || tries === MAX_TRIES || waitMs > MAX_RETRY_AFTER_MS) {
          throw new Error(`${host} ${fault.words} (try ${tries} of ${MAX_TRIES})`, { cause: error });
        }
        log?.warn({ host, tries, waitMs, err: error }, 'RPC request failed, trying again');
        await clock.sleep(waitMs, signal);
      }
    }
  };
}

/** Lets one caller through at a time, each `intervalMs` after the one before. */
function createTurnstile(clock: Pick<Clock, 'sleep'>, intervalMs: number): () => Promise<void> {
  let free = Promise.resolve();
  return () => {
    if (intervalMs === 0) return free;
    const turn = free;
    free = turn.then(() => clock.sleep(intervalMs));
    return turn;
  };
}

async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}

class HttpRefusal extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(response: Response, body: string) {
    super(`answered HTTP ${response.status}: ${body.slice(0, QUOTED_CHARACTERS) || response.statusText}`);
    this.name = 'HttpRefusal';
    this.status = response.status;
    const retryAfter = response.headers.get('retry-after') ?? '';
    this.retryAfterMs = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : null;
  }
}

async function post(url: string, body: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json; charset=utf-8' },
    body,
    signal,
  });
  const text = await response.text();
  if (!response.ok) throw new HttpRefusal(response, withoutSecrets(text, url));
  return text;
}

/** A refusal may repeat the address that it refuses, or the key in it. */
function withoutSecrets(text: string, url: string): string {
  const { pathname, search, searchParams, username, password } = new URL(url);
  const secrets = [search, ...searchParams.values(), ...pathname.split('/'), username, password];
  return secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

/** What is shorter is a word of the path, like `v2` or `rpc`. */
const SHORTEST_SECRET = 8;

/** kit’s own bigints become numbers: it has refused those that are not exact as one. */
function stringifyJson(payload: unknown): string {
  return JSON.stringify(payload, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

/** A u64 above 2^53 keeps its digits as a bigint; kit makes bigints of the rest. */
function parseJson<TAnswer>(text: string): RpcResponse<TAnswer> {
  const answer: unknown = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    const isLong = typeof value === 'number' && !Number.isSafeInteger(value);
    return isLong && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
  if (typeof answer !== 'object' || answer === null) throw new SyntaxError('JSON, but no object.');
  const refusal = refusalIn(answer);
  if (refusal) throw refusal;
  // A transport’s type promises what nobody can know yet; `ask` looks at it.
  return answer as RpcResponse<TAnswer>;
}

interface Fault {
  readonly words: string;
  /** May be over at the next try. */
  readonly passing: boolean;
  readonly retryAfterMs?: number | null;
}

function describe(error: unknown, timeoutMs: number): Fault {
  if (error instanceof HttpRefusal) {
    const passing = error.status === 429 || error.status >= 500;
    return { words: error.message, passing, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof SyntaxError) return { words: `answered no JSON-RPC: ${error.message}`, passing: false };
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return { words: `gave no answer within ${timeoutMs} ms`, passing: true };
  }
  // fetch reports every broken connection as a TypeError whose cause tells which.
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return { words: `is out of reach: ${String(cause)}`, passing: true };
}
