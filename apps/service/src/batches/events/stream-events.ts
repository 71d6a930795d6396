import type { BatchEvent } from '@flywheel/api';
import type { Clock } from '../../model/clock.ts';
import type { Db } from '../../store/db.ts';
import type { EventFeed } from '../../store/events/event-feed.ts';
import { type EventPage, findEvents } from '../../store/events/find-events.ts';

export interface EventDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly feed: Pick<EventFeed, 'watch'>;
}

/** What became of a batch after an event, up to now. */
export function readEvents({ db }: Pick<EventDeps, 'db'>, batchId: string, after: bigint): Promise<EventPage> {
  return findEvents(db, batchId, after);
}

/** Should the feed have lost its connection: what happens is heard of within this time. */
const LOOK_INTERVAL_MS = 5_000;

/**
 * What became of a batch after an event, then what becomes of it, each once and in order, until nothing more will or the
 * signal aborts.
 */
export async function* streamEvents(
  { db, clock, feed }: EventDeps,
  batchId: string,
  after: bigint,
  signal: AbortSignal,
): AsyncGenerator<BatchEvent, void> {
  let news = new AbortController();
  const unwatch = feed.watch(batchId, () => news.abort());
  try {
    for (let last = after; !signal.aborted; ) {
      // Before it is read: what is told meanwhile is looked for once more.
      news = new AbortController();
      const { events, isLast } = await findEvents(db, batchId, last);
      for (const event of events) {
        yield event;
        last = BigInt(event.id);
      }
      if (isLast) return;
      if (events.length > 0) continue;
      await clock.sleep(LOOK_INTERVAL_MS, AbortSignal.any([signal, news.signal])).catch(ignoreAbort);
    }
  } finally {
    unwatch();
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
