import pg from 'pg';
import type { Clock } from '../../model/clock.ts';
import type { Log } from '../log.ts';
import { EVENTS_CHANNEL } from './record-event.ts';

/** Says when something has become of a batch, whichever process has done it. */
export interface EventFeed {
  /**
   * Calls back when an event of the batch is there to be read, and at times when none is. While the connection is lost
   * it does not: whoever waits looks by himself now and then. Ends with what it returns.
   */
  watch(batchId: string, wake: () => void): () => void;
  stop(): Promise<void>;
}

export interface EventFeedDeps {
  readonly poolConfig: pg.PoolConfig;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Databases are back from a restart within seconds. */
const RECONNECT_MS = 1_000;

/** Listens on one connection of its own, and on another once that is lost. */
export function startEventFeed({ poolConfig, clock, log }: EventFeedDeps): EventFeed {
  const stopping = new AbortController();
  const watchers = new Map<string, Set<() => void>>();
  const wakeAll = (of: Iterable<() => void>) => {
    for (const wake of [...of]) wake();
  };
  const listening = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await listen(poolConfig, stopping.signal, {
          // What was told while nobody listened is not told again.
          onListening: () => wakeAll([...watchers.values()].flatMap((wakes) => [...wakes])),
          onEvent: (batchId) => wakeAll(watchers.get(batchId) ?? []),
        });
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ err: error }, 'events are not listened for: those who follow batches hear of them later');
      }
      await clock.sleep(RECONNECT_MS, stopping.signal).catch(() => undefined);
    }
  })();
  return {
    watch(batchId, wake) {
      const wakes = watchers.get(batchId) ?? new Set();
      watchers.set(batchId, wakes.add(wake));
      return () => {
        wakes.delete(wake);
        if (wakes.size === 0 && watchers.get(batchId) === wakes) watchers.delete(batchId);
      };
    },
    async stop() {
      stopping.abort();
      await listening;
    },
  };
}

interface Listener {
  onListening(): void;
  onEvent(batchId: string): void;
}

/** Until the signal aborts, or, by throwing, until the connection is lost. */
async function listen(poolConfig: pg.PoolConfig, signal: AbortSignal, listener: Listener): Promise<void> {
  const client = new pg.Client({ ...poolConfig, application_name: 'flywheel-events', keepAlive: true });
  const ended = Promise.withResolvers<void>();
  client.on('error', ended.reject);
  client.on('end', () => ended.reject(new Error('The connection was closed.')));
  client.on('notification', ({ payload }) => listener.onEvent(payload ?? ''));
  const onAbort = () => ended.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  // Whoever waits for it may not have come to it when it fails.
  ended.promise.catch(() => undefined);
  try {
    await client.connect();
    await client.query(`listen ${EVENTS_CHANNEL}`);
    listener.onListening();
    if (!signal.aborted) await ended.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await client.end().catch(() => undefined);
  }
}
