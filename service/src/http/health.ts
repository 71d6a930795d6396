import type { Logger } from 'pino';

/** Resolves when what it looks at can do its work; rejects, or outlasts the signal, when not. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>;

export interface Readiness {
  readonly status: 'ok' | 'unavailable';
  readonly checks: { readonly [name: string]: { readonly status: 'ok' | 'failed' | 'timed out'; readonly ms: number } };
}

/** Probes give up after a few seconds; an answer that says which check hangs must come before. */
const CHECK_TIMEOUT_MS = 2_000;

/** Runs every check at once. Why one failed is for the log: the answer is public. */
export async function checkReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  log: Logger,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await run(name, check, log, timeoutMs)] as const),
  );
  const ready = results.every(([, { status }]) => status === 'ok');
  return { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) };
}

async function run(name: string, check: ReadinessCheck, log: Logger, timeoutMs: number) {
  const startedAt = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAt);
  const signal = AbortSignal.timeout(timeoutMs);
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
