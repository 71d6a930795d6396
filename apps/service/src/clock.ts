import { setTimeout } from 'node:timers/promises';
import type { Clock } from './model/clock.ts';

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }),
};
