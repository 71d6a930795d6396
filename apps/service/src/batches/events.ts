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
  { db, clock, feed }: EventDeps,
  batchId: string,
  after: bigint,
  signal: AbortSignal,
): AsyncGenerator<BatchEvent, void> {
  let newEvent = new AbortController();
  const unwatch = feed.watch(batchId, () => newEvent.abort());
  try {
    for (let last = after; !signal.aborted; ) {
      // Renewed before the read: an event that arrives during the read causes one more read.
      newEvent = new AbortController();
      const { events, isLast } = await findEvents(db, batchId, last);
      for (const event of events) {
        yield event;
        last = BigInt(event.id);
      }
      if (isLast) return;
      if (events.length > 0) continue;
      await clock.sleep(POLL_INTERVAL_MS, AbortSignal.any([signal, newEvent.signal])).catch(ignoreAbort);
    }
  } finally {
    unwatch();
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
