import type { FastifyReply, RouteOptions } from 'fastify';
import type { Logger } from 'pino';

/** Resolves when what it looks at can do its work; rejects, or outlasts the signal, when not. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>;

/** Whether the process lives, and whether it can take requests; for load balancers, without credentials or limits. */
export function healthRoutes(checks: Readonly<Record<string, ReadinessCheck>>, log: Logger): RouteOptions[] {
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
        const result = await checkReadiness(checks, log);
        return answer(reply, result.status === 'ok' ? 200 : 503, result);
      },
    },
  ];
}

interface Readiness {
  readonly status: 'ok' | 'unavailable';
  readonly checks: { readonly [name: string]: { readonly status: 'ok' | 'failed' | 'timed out'; readonly ms: number } };
}

/** Probes give up after a few seconds; an answer that says which check hangs must come before. */
const CHECK_TIMEOUT_MS = 2_000;

/** Runs every check at once. Why one failed is for the log: the answer is public. */
async function checkReadiness(checks: Readonly<Record<string, ReadinessCheck>>, log: Logger): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await run(name, check, log)] as const),
  );
  const ready = results.every(([, { status }]) => status === 'ok');
  return { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) };
}

async function run(name: string, check: ReadinessCheck, log: Logger) {
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
