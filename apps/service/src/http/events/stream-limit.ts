import { ApiError } from '@flywheel/api';

/** Counts the streams that are open in this process. */
export interface StreamLimit {
  /**
   * Counts one of a holder’s until the signal aborts.
   * @throws ApiError ERR_TOO_MANY_STREAMS
   */
  take(holder: string, signal: AbortSignal): void;
}

/** Each holds a connection, and looks into the database every few seconds: more than people’s tabs, less than a leak. */
export const MAX_STREAMS_PER_HOLDER = 20;

/** Counts the streams that each holder has open in this process. */
export function createStreamLimit(max: number = MAX_STREAMS_PER_HOLDER): StreamLimit {
  const open = new Map<string, number>();
  return {
    take(holder, signal) {
      const count = open.get(holder) ?? 0;
      if (count >= max) throw new ApiError('ERR_TOO_MANY_STREAMS', { open: count, max });
      if (signal.aborted) return;
      open.set(holder, count + 1);
      const release = () => {
        const left = (open.get(holder) ?? 1) - 1;
        if (left === 0) open.delete(holder);
        else open.set(holder, left);
      };
      signal.addEventListener('abort', release, { once: true });
    },
  };
}
