import { type FastifyReply, fastify, type RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import { METRICS_CONTENT_TYPE, type MetricsSources, renderMetrics } from '../telemetry/metrics.ts';
import { directoryRoutes, type Locate } from './directory.ts';
import { hangUpOnClose } from './wire/connections.ts';
import { UNAVAILABLE_RETRY_SECONDS } from './wire/errors.ts';

export interface MonitorDeps extends MetricsSources {
  readonly log: Logger;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
  /** Answers the reverse proxy in front of several shards; null in a process that serves no requests. */
  readonly locate: Locate | null;
}

/** Resolves when the dependency it checks works; rejects, or outlasts the signal, when it does not. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>;

/**
 * Serves `/metrics`, `/health/*` and `/shard/*` on a port of their own, for the internal network only: metrics and the
 * directory of shards are not public, and a worker process serves no other port.
 */
export async function serveMonitor(
  deps: MonitorDeps,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = fastify({ logger: false });
  hangUpOnClose(server);
  server.get('/metrics', async (_request, reply) =>
    reply.header('content-type', METRICS_CONTENT_TYPE).send(await renderMetrics(deps)),
  );
  for (const route of healthRoutes(deps.readiness, deps.log)) server.route(route);
  if (deps.locate) for (const route of directoryRoutes(deps.locate)) server.route(route);
  const url = await server.listen({ host, port });
  return { url, close: () => server.close() };
}

/**
 * Liveness and readiness for load balancers, without credentials or rate limits. Anyone may call these routes, so the
 * checks run at most once a second.
 */
export function healthRoutes(checks: Readonly<Record<string, ReadinessCheck>>, log: Logger): RouteOptions[] {
  const readReadiness = remember(() => checkReadiness(checks, log), READINESS_MS);
  const answer = (reply: FastifyReply, status: number, body: object) =>
    reply
      .status(status)
      .headers({ 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' })
      .send(JSON.stringify(body));
  return [
    { method: 'GET', url: '/health/live', handler: (_request, reply) => answer(reply, 200, { status: 'ok' }) },
    {
      method: 'GET',
      url: '/health/ready',
      handler: async (_request, reply) => {
        const result = await readReadiness();
        if (result.status === 'ok') return answer(reply, 200, result);
        return answer(reply.header('retry-after', UNAVAILABLE_RETRY_SECONDS), 503, result);
      },
    },
  ];
}

/** Shorter than the interval of any probe, so that each probe has a check of its own. */
const READINESS_MS = 1_000;

/** Shares one running check among all who ask, and its result for a time after it began. */
function remember<Result>(check: () => Promise<Result>, ms: number): () => Promise<Result> {
  let last: { readonly result: Promise<Result>; readonly startedAt: number; isRunning: boolean } | null = null;
  return () => {
    if (last?.isRunning || (last && performance.now() - last.startedAt < ms)) return last.result;
    const started = { result: check(), startedAt: performance.now(), isRunning: true };
    last = started;
    const end = () => {
      started.isRunning = false;
    };
    started.result.then(end, end);
    return started.result;
  };
}

interface Readiness {
  readonly status: 'ok' | 'unavailable';
  readonly checks: { readonly [name: string]: { readonly status: 'ok' | 'failed' | 'timed out'; readonly ms: number } };
}

/** Probes give up after a few seconds. Ours ends earlier, so that the response names the check that hangs. */
const CHECK_TIMEOUT_MS = 2_000;

/** Runs every check at once. The reason of a failed check goes to the log only: the response is public. */
async function checkReadiness(checks: Readonly<Record<string, ReadinessCheck>>, log: Logger): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await runCheck(name, check, log)] as const),
  );
  const ready = results.every(([, { status }]) => status === 'ok');
  return { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) };
}

async function runCheck(name: string, check: ReadinessCheck, log: Logger) {
  const startedAt = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAt);
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  try {
    await Promise.race([check(signal), rejectOn(signal)]);
    return { status: 'ok', ms: elapsedMs() } as const;
  } catch (error) {
    log.warn({ err: error, check: name }, 'not ready');
    return { status: signal.aborted ? 'timed out' : 'failed', ms: elapsedMs() } as const;
  }
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
