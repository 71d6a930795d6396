import { sleep } from '@flywheel/solana-rpc';
import { type FlywheelError, isFlywheelError } from '../errors.ts';

export interface RetryOptions {
  /** Attempts, the first included; 4 by default. */
  readonly maxAttempts?: number | undefined;
  /** Decides whether another attempt is safe and may succeed. */
  readonly mayRetry: (error: FlywheelError) => boolean;
  /** Called before each wait for another attempt. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A wait for another attempt. */
export interface Retry {
  readonly error: FlywheelError;
  readonly waitMs: number;
}

const DEFAULT_MAX_ATTEMPTS = 4;
// The longest window of the service's rate limits is a minute. The caller decides about a longer wait.
const MAX_RETRY_AFTER_SECONDS = 60;

/** Calls `attempt` until it succeeds or must not be retried. It waits as long as `Retry-After` asks, or with backoff. */
export async function retry<T>(options: RetryOptions, attempt: () => Promise<T>): Promise<T> {
  const { maxAttempts = DEFAULT_MAX_ATTEMPTS, mayRetry, onRetry, signal } = options;
  for (let made = 1; ; made += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isFlywheelError(error) || made >= maxAttempts || asksForTooLong(error) || !mayRetry(error)) throw error;
      const waitMs = error.retryAfterSeconds === null ? backoffMs(made) : error.retryAfterSeconds * 1_000;
      onRetry?.({ error, waitMs });
      await sleep(waitMs, signal);
    }
  }
}

/** Reads `Retry-After`, which is seconds or an HTTP date (RFC 9110, 10.2.3). */
export function readRetryAfter({ headers }: Response): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Number(value);
  const untilMs = Date.parse(value) - Date.now();
  return Number.isNaN(untilMs) ? null : Math.max(0, Math.ceil(untilMs / 1_000));
}

function asksForTooLong({ retryAfterSeconds }: FlywheelError): boolean {
  return retryAfterSeconds !== null && retryAfterSeconds > MAX_RETRY_AFTER_SECONDS;
}

const FIRST_BACKOFF_MS = 250;

/** Doubles each time. The random half spreads clients that failed at the same moment. */
function backoffMs(attempt: number): number {
  const ceilingMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  return ceilingMs / 2 + Math.random() * (ceilingMs / 2);
}
