import type { BatchEvent, EventStream } from '@flywheel/api';
import { type EventDeps, readEvents, streamEvents } from '../../batches/events.ts';
import type { StreamLimit } from './stream-limit.ts';

export interface StreamDeps extends EventDeps {
  readonly streams: StreamLimit;
}

/**
 * The events of a batch that the caller may read. Where it has had the last of them, 204: of all answers the one after
 * which an EventSource does not connect again (HTML, "Server-sent events").
 */
export async function replyWithEvents(
  deps: StreamDeps,
  { batchId, holder, lastEventId }: EventsRequest,
): Promise<EventsReply> {
  const after = BigInt(lastEventId ?? 0);
  if (lastEventId !== undefined) {
    const { events, isLast } = await readEvents(deps, batchId, after);
    if (isLast && events.length === 0) return { status: 204, body: null };
  }
  return {
    status: 200,
    body: (signal) => {
      deps.streams.take(holder, signal);
      return streamEvents(deps, batchId, after, signal);
    },
  };
}

interface EventsRequest {
  readonly batchId: string;
  /** Whose streams are counted together. */
  readonly holder: string;
  /** The header of that name. */
  readonly lastEventId: string | undefined;
}

type EventsReply =
  | { readonly status: 200; readonly body: EventStream<BatchEvent> }
  | { readonly status: 204; readonly body: null };
