import type { FlywheelError } from '@flywheel/sdk';

/** A request that is being repeated. */
export interface Repeat {
  /** Answer of the last attempt. */
  readonly error: FlywheelError;
  /** Time of the next attempt, in milliseconds since the epoch. */
  readonly nextAtMs: number;
}

const repeats = new Map<symbol, Repeat>();
const listeners = new Set<() => void>();
let latest: Repeat | null = null;

/** Keeps account of one request: `wait` before each further attempt, `end` when it has its answer. */
export function noteRepeat() {
  const key = Symbol('request');
  return {
    wait: ({ error, waitMs }: { readonly error: FlywheelError; readonly waitMs: number }) => {
      repeats.set(key, { error, nextAtMs: Date.now() + waitMs });
      announce();
    },
    end: () => {
      if (repeats.delete(key)) announce();
    },
  };
}

/** The last request that began to be repeated and has no answer yet; null if there is none. */
export function latestRepeat(): Repeat | null {
  return latest;
}

/** Calls `onChange` when `latestRepeat` answers another one. @returns a function that ends this. */
export function subscribeRepeats(onChange: () => void): () => void {
  listeners.add(onChange);
  return () => listeners.delete(onChange);
}

function announce(): void {
  latest = [...repeats.values()].at(-1) ?? null;
  for (const listener of listeners) listener();
}
