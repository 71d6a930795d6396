/** The pauses between attempts; after the last attempt an event is given up. */
export interface RetrySchedule {
  readonly pausesMs: readonly number[];
  /** In [0, 1). */
  readonly random: () => number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Ten attempts over 22 h 43 min: a receiver that is down for a night misses nothing. */
export const RETRY_PAUSES_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
] as const;

/** Jitter keeps deliveries that failed together from being retried together. The delays stay within 24 h in total. */
const JITTER = 0.05;

/** When to try again after so many tries; null when that was the last. */
export function retryAt({ pausesMs, random }: RetrySchedule, tries: number, now: Date): Date | null {
  const pauseMs = pausesMs[tries - 1];
  if (pauseMs === undefined) return null;
  return new Date(now.getTime() + pauseMs * (1 - JITTER + 2 * JITTER * random()));
}
