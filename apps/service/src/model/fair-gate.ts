import type { Clock } from './clock.ts';

/** What one job's project has used of the resources that all projects share. Each use moves it behind the others. */
export interface Share {
  /** The project counts as served until this time, in milliseconds of the clock. The lowest one goes first. */
  servedUntilMs: number;
}

/** Lets a limited number of jobs pass at a time. Of those that wait, the project that was served least recently goes first. */
export interface FairGate {
  /**
   * Waits for a place.
   * @returns the function that gives it back; its second call does nothing.
   * @throws the signal's reason if it aborts first.
   */
  enter(share: Share, signal: AbortSignal): Promise<() => void>;
  /** True if a job would have to wait now. */
  isBusy(): boolean;
}

/**
 * Creates a gate in front of a resource that projects share. It is round-robin by project, and counts what each one used: a
 * project that held its place for 200 ms counts as served 200 ms later than it left.
 */
export function createFairGate({
  capacity,
  clock,
}: {
  readonly capacity: number;
  readonly clock: Pick<Clock, 'now'>;
}): FairGate {
  const waiting = new Set<Waiting>();
  let free = capacity;
  const nowMs = () => clock.now().getTime();

  const admit = ({ share, entered }: Waiting) => {
    free -= 1;
    const enteredMs = nowMs();
    let isInside = true;
    entered.resolve(() => {
      if (!isInside) return;
      isInside = false;
      free += 1;
      const leftMs = nowMs();
      share.servedUntilMs = Math.max(share.servedUntilMs, leftMs + (leftMs - enteredMs));
      admitNext();
    });
  };
  const admitNext = () => {
    const next = leastServed(waiting);
    if (next === null || free === 0) return;
    waiting.delete(next);
    admit(next);
  };

  return {
    enter: async (share, signal) => {
      signal.throwIfAborted();
      const entering: Waiting = { share, entered: Promise.withResolvers() };
      if (free > 0) {
        admit(entering);
        return entering.entered.promise;
      }
      const onAbort = () => {
        if (waiting.delete(entering)) entering.entered.reject(signal.reason);
      };
      waiting.add(entering);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await entering.entered.promise;
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    isBusy: () => free === 0,
  };
}

interface Waiting {
  readonly share: Share;
  readonly entered: PromiseWithResolvers<() => void>;
}

/** Finds the first of those that were served least recently. There are hundreds at most, so it compares them all. */
function leastServed(waiting: ReadonlySet<Waiting>): Waiting | null {
  let least: Waiting | null = null;
  for (const one of waiting) {
    if (least === null || one.share.servedUntilMs < least.share.servedUntilMs) least = one;
  }
  return least;
}
