import type { BatchEvent } from '@flywheel/api';
import type { Clock } from '../model/clock.ts';
import { type EventFeed, type EventPage, findEvents } from '../store/batches/events.ts';
import type { Db } from '../store/db.ts';

export interface EventDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly feed: Pick<EventFeed, 'watch'>;
}

/**
 * Reads the events of a batch after the one with the id `after`.
 * @throws ApiError ERR_PROJECT_MOVING if the batch has left this shard.
 */
export function readEvents({ db }: Pick<EventDeps, 'db'>, batchId: string, after: bigint): Promise<EventPage> {
  return findEvents(db, batchId, after);
}

/** Bounds the delay of an event when the feed has lost its connection. */
const POLL_INTERVAL_MS = 5_000;

/**
 * Yields the events of a batch after the one with the id `after`, past and future, each once and in order. Ends after the
 * last event that the batch can have, or when the signal aborts.
 * @throws ApiError ERR_PROJECT_MOVING when the batch leaves this shard.
 */
export async function* streamEvents(
  deps: EventDeps,
  batchId: string,
  after: bigint,
  signal: AbortSignal,
): AsyncGenerator<BatchEvent, void> {
  using watch = watchBatch(deps, batchId);
  for (let last = after; !signal.aborted; ) {
    watch.begin();
    const { events, isLast } = await findEvents(deps.db, batchId, last);
    for (const event of events) {
      yield event;
      last = BigInt(event.id);
    }
    if (isLast) return;
    if (events.length === 0) await watch.next(POLL_INTERVAL_MS, signal);
  }
}

/** Waits for events of a batch. */
export interface BatchWatch extends Disposable {
  /** Must be called before each read: an event that arrives during the read then ends the wait after it. */
  begin(): void;
  /** Resolves with the next event, at the latest after this time, or when the signal aborts. */
  next(mostMs: number, signal: AbortSignal): Promise<void>;
}

/** Watches a batch until the watch is disposed. */
export function watchBatch({ clock, feed }: Pick<EventDeps, 'clock' | 'feed'>, batchId: string): BatchWatch {
  let newEvent = new AbortController();
  const unwatch = feed.watch(batchId, () => newEvent.abort());
  return {
    begin: () => {
      newEvent = new AbortController();
    },
    next: (mostMs, signal) => clock.sleep(mostMs, AbortSignal.any([signal, newEvent.signal])).catch(ignoreAbort),
    [Symbol.dispose]: unwatch,
  };
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
