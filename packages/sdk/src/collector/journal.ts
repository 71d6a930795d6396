import { type CollectorStore, type ItemCounts, replaced, type StoreChanges } from './store.ts';

/** The collector's writes: one at a time, in its epoch, each followed by fresh counts. */
export interface Journal {
  readonly store: CollectorStore;
  counts(): ItemCounts;
  /** Begins an epoch. @returns false if another collector has a lease. */
  claim(leaseMs?: number): Promise<boolean>;
  /** Extends the lease of the epoch; 0 ends it. Without an epoch nothing happens. */
  renew(leaseMs: number): Promise<void>;
  /** @throws FlywheelError `ERR_COLLECTOR_REPLACED` unless the store says that the epoch is the present one. */
  requireEpoch(): Promise<void>;
  /** Runs work that reads and then writes, while no other such work runs. */
  exclusive<T>(work: (write: (changes: StoreChanges) => Promise<void>) => Promise<T>): Promise<T>;
  /** Reads the counts again, after items were added. */
  refresh(): Promise<void>;
  /** Resolves after the next write or refresh, or when the collector stops. */
  nextChange(): Promise<void>;
}

/**
 * Opens a store. It takes items at once, and writes after a claim.
 * @param onWritten called after each write with what was written.
 */
export async function openJournal(
  store: CollectorStore,
  { signal, onWritten }: { readonly signal: AbortSignal; readonly onWritten: (changes: StoreChanges) => void },
): Promise<Journal> {
  let epoch: number | null = null;
  let counts = await store.count();
  let waiters: (() => void)[] = [];
  let last: Promise<unknown> = Promise.resolve();

  function announce(): void {
    const called = waiters;
    waiters = [];
    for (const resolve of called) resolve();
  }
  signal.addEventListener('abort', announce, { once: true });

  async function refresh(): Promise<void> {
    counts = await store.count();
    announce();
  }

  async function writeSilently(changes: StoreChanges): Promise<void> {
    if (epoch === null) throw replaced();
    await store.write(epoch, changes);
  }

  async function write(changes: StoreChanges): Promise<void> {
    await writeSilently(changes);
    await refresh();
    onWritten(changes);
  }

  return {
    store,
    counts: () => counts,
    claim: async (leaseMs) => {
      epoch = await store.claim(leaseMs);
      if (epoch !== null) await refresh();
      return epoch !== null;
    },
    renew: async (leaseMs) => {
      if (epoch !== null) await store.renew(epoch, leaseMs);
    },
    // A write of nothing demands the epoch.
    requireEpoch: () => writeSilently({}),
    exclusive: (work) => {
      const turn = last.then(() => work(write));
      last = turn.catch(() => undefined);
      return turn;
    },
    refresh,
    nextChange: () =>
      new Promise((resolve) => {
        if (signal.aborted) resolve();
        else waiters.push(resolve);
      }),
  };
}
