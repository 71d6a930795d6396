import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@flywheel/service/internal/model/clock.ts';

/** Creates a clock whose sleeps take no time and are recorded. */
export function instantClock(): Clock & { readonly sleeps: readonly number[] } {
  const sleeps: number[] = [];
  let passedMs = 0;
  return {
    sleeps,
    now: () => new Date(passedMs),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      passedMs += ms;
    },
  };
}

/** Real time. */
export const realClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};
