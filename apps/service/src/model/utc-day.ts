/** The day that limits are counted by, e.g. `2026-11-21`. */
export function utcDay(now: Date): string {
  return now.toISOString().slice(0, 10);
}

/** When the limits of this day end. */
export function startOfNextUtcDay(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1));
}
