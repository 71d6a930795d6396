/** Lets one change at a time touch the ledger, and reads in between. */
export interface StateLock {
  /** Runs after every change that was asked for earlier; nothing else sees the state meanwhile. */
  change<T>(work: () => Promise<T>): Promise<T>;
  /** Runs at once when no change is under way, else right after the one that is: reads do not wait for the whole queue. */
  read<T>(work: () => T): Promise<T>;
}

export function createStateLock(): StateLock {
  let tail: Promise<unknown> = Promise.resolve();
  let running: Promise<unknown> | null = null;

  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    const result = work();
    // A rejection belongs to whoever asked for the change; those who only wait for its end must not see it.
    const settled = result.then(ignore, ignore);
    running = settled;
    try {
      return await result;
    } finally {
      if (running === settled) running = null;
    }
  };

  return {
    change: (work) => {
      const result = tail.then(() => run(work));
      tail = result.then(ignore, ignore);
      return result;
    },
    read: async (work) => {
      while (running) await running;
      return work();
    },
  };
}

function ignore(): void {
  return;
}
