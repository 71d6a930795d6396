import { ApiError, type RateLimitName } from '@flywheel/api';

export interface RateLimits {
  readonly limits: Readonly<Record<RateLimitName, { readonly requests: number; readonly seconds: number }>>;
  /** Counts one request; exact across processes. */
  consume(name: RateLimitName, key: string): Promise<RateLimitState>;
}

export interface RateLimitState {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Until the count starts anew, rounded up. */
  readonly resetSeconds: number;
}

/**
 * Counts a request and says so in the answer's headers (IETF draft-ietf-httpapi-ratelimit-headers).
 * @throws ApiError ERR_RATE_LIMITED once the limit is passed; the headers are set all the same.
 */
export async function limitRate(
  rateLimits: RateLimits,
  name: RateLimitName,
  key: string,
  setHeader: (name: string, value: string) => void,
): Promise<void> {
  const { requests, seconds } = rateLimits.limits[name];
  const { allowed, remaining, resetSeconds } = await rateLimits.consume(name, key);
  setHeader('RateLimit-Policy', `"${name}";q=${requests};w=${seconds}`);
  setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
  if (!allowed) {
    // Zero would invite a request within the same window.
    throw new ApiError('ERR_RATE_LIMITED', { requests, seconds, retryAfterSeconds: Math.max(1, resetSeconds) });
  }
}
