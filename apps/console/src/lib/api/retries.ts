import type { FlywheelError } from '@flywheel/sdk';

/** A request that is being retried. */
export interface Retry {
  /** Answer of the last attempt. */
  readonly error: FlywheelError;
  /** Time of the next attempt, in milliseconds since the epoch. */
  readonly nextAtMs: number;
}

const retries = new Map<symbol, Retry>();
const listeners = new Set<() => void>();
let latest: Retry | null = null;

/** Keeps account of one request: `wait` before each further attempt, `end` when it has its answer. */
export function trackRetries() {
  const key = Symbol('request');
  return {
    wait: ({ error, waitMs }: { readonly error: FlywheelError; readonly waitMs: number }) => {
      retries.set(key, { error, nextAtMs: Date.now() + waitMs });
      announce();
    },
    end: () => {
      if (retries.delete(key)) announce();
    },
  };
}

/** The last request that began to be retried and has no answer yet; null if there is none. */
export function latestRetry(): Retry | null {
  return latest;
}

/** Calls `onChange` when `latestRetry` answers another one. @returns a function that ends this. */
export function subscribeRetries(onChange: () => void): () => void {
  listeners.add(onChange);
  return () => listeners.delete(onChange);
}

function announce(): void {
  latest = [...retries.values()].at(-1) ?? null;
  for (const listener of listeners) listener();
}
