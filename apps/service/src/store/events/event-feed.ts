import { EVENTS_CHANNEL } from './record-event.ts';
import { type ListenDeps, startListening } from './start-listening.ts';

/** Says when something has become of a batch, whichever process has done it. */
export interface EventFeed {
  /**
   * Calls back when an event of the batch is there to be read, and at times when none is. While the connection is lost
   * it does not: whoever waits looks by himself now and then. Ends with what it returns.
   */
  watch(batchId: string, wake: () => void): () => void;
  stop(): Promise<void>;
}

/** Listens on one connection of its own, and on another once that is lost. */
export function startEventFeed(deps: ListenDeps): EventFeed {
  const watchers = new Map<string, Set<() => void>>();
  const wakeAll = (of: Iterable<() => void>) => {
    for (const wake of [...of]) wake();
  };
  const listening = startListening(deps, EVENTS_CHANNEL, {
    // What was told while nobody listened is not told again.
    onListening: () => wakeAll([...watchers.values()].flatMap((wakes) => [...wakes])),
    onNotice: (batchId) => wakeAll(watchers.get(batchId) ?? []),
  });
  return {
    watch(batchId, wake) {
      const wakes = watchers.get(batchId) ?? new Set();
      watchers.set(batchId, wakes.add(wake));
      return () => {
        wakes.delete(wake);
        if (wakes.size === 0 && watchers.get(batchId) === wakes) watchers.delete(batchId);
      };
    },
    stop: () => listening.stop(),
  };
}
