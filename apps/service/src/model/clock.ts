/** The only source of time. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Length of a day. `Date` knows no leap seconds. */
export const DAY_MS = 86_400_000;

/** Formats the UTC day of a daily limit, e.g. `2026-11-21`. */
export function utcDay(now: Date): string {
  return now.toISOString().slice(0, 10);
}

/** Returns the time at which a UTC day began. */
export function startOfUtcDay(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()));
}

/** Returns the time at which the daily limits reset. */
export function startOfNextUtcDay(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1));
}

/** Returns the seconds until the daily limits reset; at least 1. */
export function secondsToNextUtcDay(now: Date): number {
  return Math.ceil((startOfNextUtcDay(now).getTime() - now.getTime()) / 1_000);
}

/**
 * Waits for work that its caller can do without: its result, or null after `ms`. The work itself goes on.
 * @throws what the work throws within that time.
 */
export async function answerWithin<Answer>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  work: Promise<Answer>,
): Promise<Answer | null> {
  const over = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, over.signal).then(() => null)]);
  } finally {
    over.abort();
  }
}
