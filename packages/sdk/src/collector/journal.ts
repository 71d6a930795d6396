import type { CollectorStore, ItemCounts, StoreChanges } from './store.ts';

/** The collector's writes: one at a time, in its epoch, each followed by fresh counts. */
export interface Journal {
  readonly store: CollectorStore;
  counts(): ItemCounts;
  /** Runs work that reads and then writes, while no other such work runs. */
  exclusive<T>(work: (write: (changes: StoreChanges) => Promise<void>) => Promise<T>): Promise<T>;
  /** Reads the counts again, after items were added. */
  refresh(): Promise<void>;
  /** Resolves after the next write or refresh, or when the collector stops. */
  nextChange(): Promise<void>;
}

/**
 * Begins an epoch of a store.
 * @param onWritten called after each write with what was written.
 */
export async function openJournal(
  store: CollectorStore,
  { signal, onWritten }: { readonly signal: AbortSignal; readonly onWritten: (changes: StoreChanges) => void },
): Promise<Journal> {
  const epoch = await store.claim();
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

  async function write(changes: StoreChanges): Promise<void> {
    await store.write(epoch, changes);
    await refresh();
    onWritten(changes);
  }

  return {
    store,
    counts: () => counts,
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
