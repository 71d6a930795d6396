import { ApiError, type ErrorContext } from '@flywheel/api';
import type { RateLimits } from './operation-route.ts';

type Work = ErrorContext<'ERR_TOO_MANY_AT_ONCE'>['work'];

/** Bounds work that queries the cluster or keeps a connection, for a project whatever the number of its keys. */
export interface WorkLimits {
  /**
   * Does work of a project, or of an address, if little enough of it is in progress in this process and was begun within
   * the window of the rate limit `project`.
   * @throws ApiError ERR_TOO_MANY_AT_ONCE, ERR_RATE_LIMITED, and whatever the work throws.
   */
  run<Result>(work: Work, holder: string, start: () => Promise<Result>): Promise<Result>;
  /**
   * Counts work that has another limit of how much is in progress.
   * @throws ApiError ERR_RATE_LIMITED
   */
  count(work: 'event streams', projectId: string): Promise<void>;
}

/** A preview makes about ten requests to the cluster, a proof check up to twenty. */
const MAX_AT_ONCE = 8;
/** Both take about a second. */
const RETRY_AFTER_SECONDS = 1;

export function createWorkLimits(rateLimits: RateLimits): WorkLimits {
  const running = new Map<string, number>();
  const count = async (name: string) => {
    const { allowed, resetSeconds } = await rateLimits.consume('project', name);
    if (allowed) return;
    const { requests, seconds } = rateLimits.limits.project;
    // Retry-After: 0 would invite a request within the same window.
    throw new ApiError('ERR_RATE_LIMITED', { requests, seconds, retryAfterSeconds: Math.max(1, resetSeconds) });
  };
  return {
    count: (work, projectId) => count(`${work} ${projectId}`),
    async run(work, holder, start) {
      const name = `${work} ${holder}`;
      const inProgress = running.get(name) ?? 0;
      if (inProgress >= MAX_AT_ONCE) {
        throw new ApiError('ERR_TOO_MANY_AT_ONCE', { work, max: MAX_AT_ONCE, retryAfterSeconds: RETRY_AFTER_SECONDS });
      }
      running.set(name, inProgress + 1);
      try {
        await count(name);
        return await start();
      } finally {
        const left = (running.get(name) ?? 1) - 1;
        if (left === 0) running.delete(name);
        else running.set(name, left);
      }
    },
  };
}
