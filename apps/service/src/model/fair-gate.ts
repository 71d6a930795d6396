import type { Clock } from './clock.ts';

/** The facts that decide when one job has its turn at resources that all projects share. */
export interface Share {
  /** When the job became due, in milliseconds of the clock. */
  readonly dueMs: number;
  /** The project counts as served until this time; `-Infinity` if it was not served before. */
  servedUntilMs: number;
  /** The project has more to do than one turn of this job. */
  hasBacklog: boolean;
  /** Goes before all others: a limited resource is reserved for it, and is wasted while it waits elsewhere. */
  isExpected: boolean;
  /** How long the present turn has held shared resources. It counts when the turn ends. */
  usedMs: number;
}

/** A project that was not served for this long goes first, and a long wait makes it no more urgent. */
export const CREDIT_MS = 300_000;
/**
 * The same for a project with a backlog. A single batch goes before backlogs that have waited for up to four minutes, in
 * which a block engine that accepts five requests a second serves 1,200 of them.
 */
export const BACKLOG_CREDIT_MS = 60_000;

export function newShare(dueMs: number): Share {
  return { dueMs, servedUntilMs: Number.NEGATIVE_INFINITY, hasBacklog: false, isExpected: false, usedMs: 0 };
}

/** Ends the turn of a share: projects that were served before now go first. */
export function endTurn(share: Share, nowMs: number): void {
  share.servedUntilMs = Math.max(share.servedUntilMs, nowMs + share.usedMs);
  share.usedMs = 0;
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
 * Creates a gate in front of a resource that projects share. The order is round-robin by project, and counts what each turn
 * used: a project that held places for 200 ms counts as served 200 ms after the end of its turn. Until then its order does
 * not change, so that a batch which has begun its turn is not overtaken by all that have not.
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
      share.usedMs += nowMs() - enteredMs;
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
    if (least === null || orderOf(one.share) < orderOf(least.share)) least = one;
  }
  return least;
}

/** The claims of jobs (`store/jobs/claim.ts`) have the same order. */
function orderOf({ dueMs, servedUntilMs, hasBacklog, isExpected }: Share): number {
  if (isExpected) return Number.NEGATIVE_INFINITY;
  return Math.max(servedUntilMs, dueMs - (hasBacklog ? BACKLOG_CREDIT_MS : CREDIT_MS));
}
