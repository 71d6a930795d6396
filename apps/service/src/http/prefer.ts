/** What an execute waits by default, and at most: proxies give up on a silent answer after a minute or two. */
const DEFAULT_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 120;

export interface PreferredWait {
  readonly seconds: number;
  /** Asked for, not ours by default. */
  readonly isGiven: boolean;
}

/** RFC 7240 `Prefer: wait=SECONDS`. Nonsense is ignored, as the RFC asks; more than the most is cut to it. */
export function parsePreferredWait(header: string | undefined): PreferredWait {
  for (const preference of header?.split(',') ?? []) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (seconds !== undefined) return { seconds: Math.min(Number(seconds), MAX_WAIT_SECONDS), isGiven: true };
  }
  return { seconds: DEFAULT_WAIT_SECONDS, isGiven: false };
}
