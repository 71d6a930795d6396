import { sleep } from '@flywheel/solana-rpc';
import { createDeferrals } from './deferrals.ts';
import { type PayDeps, payBatch } from './pay-batch.ts';
import { type Plan, type PlanLimits, planBatch } from './plan-batch.ts';
import type { Lane, StoredBatch } from './store.ts';

export interface PayLoopOptions {
  readonly limits: PlanLimits;
  /** Batches at a time that are not executed yet; at least 2, of which one is kept for recipients who failed. */
  readonly maxOpenBatches: number;
  /** Time between the first requests of two batches. */
  readonly minOpenIntervalMs: number;
  /** True if items are sent without waiting for a full batch. */
  readonly isUrgent: () => boolean;
  readonly onError: (error: unknown) => void;
}

export interface PayLoop {
  /** Batches that are not executed yet. */
  openBatches(): number;
  /** Resolves when nothing of the loop runs any more, after the signal is aborted. */
  readonly ended: Promise<void>;
}

/** A timer cannot wait longer than 24 days; a minute costs nothing. */
const MAX_PAUSE_MS = 60_000;
const MIN_PAUSE_MS = 20;

/** Continues the open batches of the store and opens new ones, until the signal is aborted or `onError` was called. */
export function startPayLoop(
  deps: Omit<PayDeps, 'onExecuted' | 'deferrals'>,
  { limits, maxOpenBatches, minOpenIntervalMs, isUrgent, onError }: PayLoopOptions,
): PayLoop {
  const { journal, signal } = deps;
  const open = new Map<string, Lane>();
  const running = new Set<Promise<void>>();
  // By the clock of timers, which cannot be set.
  let nextOpenAtMs = 0;
  // The pace is shared: without turns, the lane that is asked first could use all of it.
  let lastLane: Lane = 'apart';
  // Half of a batch that a limit has refused, doubled when one has passed.
  const maxItems: Record<Lane, number> = { together: limits.maxItems, apart: limits.maxItems };
  const deferrals = createDeferrals();
  let isWoken = false;
  let wake: () => void = () => undefined;

  function start(batch: StoredBatch): void {
    open.set(batch.key, batch.lane);
    const work = pay(batch).catch((error: unknown) => {
      if (!signal.aborted) onError(error);
    });
    running.add(work);
    work.finally(() => {
      running.delete(work);
      release(batch);
    });
  }

  function release({ key }: StoredBatch): void {
    open.delete(key);
    isWoken = true;
    wake();
  }

  async function pay(batch: StoredBatch): Promise<void> {
    const { lane } = batch;
    const { kind, items } = await payBatch({ ...deps, deferrals, onExecuted: release }, batch);
    if (kind === 'tooBig') maxItems[lane] = Math.max(1, Math.floor(Math.min(maxItems[lane], items) / 2));
    if (kind === 'ended') maxItems[lane] = Math.min(limits.maxItems, maxItems[lane] * 2);
  }

  function plan(lane: Lane): Promise<Plan> {
    return journal.exclusive(async (write) => {
      const maxAgeMs = isUrgent() ? 0 : limits.maxAgeMs;
      const options = { limits: { ...limits, maxItems: maxItems[lane], maxAgeMs }, deferrals, nowMs: Date.now() };
      const planned = await planBatch(journal.store, lane, options);
      if (planned.changes !== null) await write(planned.changes);
      return planned;
    });
  }

  function freeLanes(): Lane[] {
    const lanes = [...open.values()];
    const apart = lanes.filter((lane) => lane === 'apart').length;
    const isFree = { together: lanes.length - apart < maxOpenBatches - 1, apart: apart === 0 };
    const inTurn: Lane[] = lastLane === 'together' ? ['apart', 'together'] : ['together', 'apart'];
    return inTurn.filter((lane) => isFree[lane]);
  }

  async function run(): Promise<void> {
    for (const batch of await journal.store.readBatches()) start(batch);
    while (!signal.aborted) {
      const changed = journal.nextChange();
      isWoken = false;
      const pauses = [MAX_PAUSE_MS];
      let hasMoved = false;
      for (const lane of freeLanes()) {
        const pacedMs = nextOpenAtMs - performance.now();
        if (pacedMs > 0) {
          pauses.push(pacedMs);
          continue;
        }
        const { changes, batch, dueInMs } = await plan(lane);
        if (dueInMs !== null) pauses.push(dueInMs);
        if (changes !== null) hasMoved = true;
        if (batch === null) continue;
        nextOpenAtMs = performance.now() + minOpenIntervalMs;
        lastLane = lane;
        start(batch);
      }
      if (!hasMoved && !signal.aborted) await pause(Math.min(...pauses), changed);
    }
  }

  /** Waits for a time, a change of the store, or a batch that makes room. */
  async function pause(ms: number, changed: Promise<void>): Promise<void> {
    // Items that arrive one by one would otherwise be read again for each.
    await sleep(Math.min(ms, MIN_PAUSE_MS));
    if (isWoken) return;
    const timer = new AbortController();
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    // Ended by the abort below, unless its time is over first.
    const slept = sleep(ms, timer.signal).catch(() => undefined);
    await Promise.race([changed, woken, slept]);
    timer.abort();
  }

  const loop = run().catch((error: unknown) => {
    if (!signal.aborted) onError(error);
  });
  const ended = loop.then(async () => {
    await Promise.all(running);
  });
  return { openBatches: () => open.size, ended };
}
