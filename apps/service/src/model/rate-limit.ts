import type { RateLimitName } from '@flywheel/api';

/** The limits of an installation, and the counts of the requests against them. */
export interface RateLimits {
  readonly limits: Readonly<Record<RateLimitName, RateLimit>>;
  /** Counts one request of `key` against a limit; exact across processes. */
  consume(name: RateLimitName, key: string): Promise<RateLimitState>;
}

/** Maximum of requests within a number of seconds after the first one. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** A limit after a request was counted. */
export interface RateLimitState {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the count is reset, rounded up. */
  readonly resetSeconds: number;
}
