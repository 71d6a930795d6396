import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { ApiError, type BatchEvent, batchEventText, type EventStream, isApiError } from '@flywheel/api';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';

/** Proxies and load balancers close a silent connection after 30 s at the earliest. */
const HEARTBEAT_MS = 15_000;
/** Reconnection time that the stream sends to clients. */
const RETRY_MS = 1_000;
/** Time for a client to read the last bytes before its connection is closed. */
const HANG_UP_MS = 2_000;
/** Ten minutes: reconnecting stays cheap, and a revoked key or an ended session stops listening soon. */
const MAX_STREAM_MS = 10 * 60_000;

/**
 * Sends events as they happen (HTML, "Server-sent events") until they end, the client leaves, the project moves to another
 * shard, the server closes or the stream's time is up. A client that wants more reconnects with the id of its last event.
 * @throws whatever `open` throws before the stream begins; later errors end the stream.
 */
export function sendEvents(
  reply: FastifyReply,
  open: EventStream<BatchEvent>,
  { closing, log }: { readonly closing: AbortSignal; readonly log: Logger },
): FastifyReply {
  const over = new AbortController();
  reply.raw.once('close', () => over.abort());
  if (reply.raw.destroyed) over.abort();
  const signal = AbortSignal.any([over.signal, closing]);
  const events = open(signal);
  const sink = new PassThrough();
  const { socket } = reply.raw;
  // Not a signal with a time of its own, which cannot be cleared: most streams end long before.
  const timeUp = setTimeout(() => over.abort(), MAX_STREAM_MS);
  void pump(events, sink, signal)
    .catch((error: unknown) => log.error({ err: error }, 'event stream failed'))
    .finally(() => {
      clearTimeout(timeUp);
      if (socket) hangUp(socket);
    });
  return reply
    .status(200)
    .headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // A stream that the closing server ends would otherwise leave an idle connection to wait for.
      connection: 'close',
      // nginx buffers responses otherwise.
      'x-accel-buffering': 'no',
    })
    .send(sink);
}

/** Closes the connection of a client that does not read: it would keep the server from closing until it times out. */
function hangUp(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), HANG_UP_MS);
  socket.once('close', () => clearTimeout(timer));
}

async function pump(events: AsyncIterable<BatchEvent>, sink: PassThrough, signal: AbortSignal): Promise<void> {
  sink.write(`retry: ${RETRY_MS}\n\n`);
  const heartbeat = setInterval(() => sink.write(':\n\n'), HEARTBEAT_MS);
  try {
    for await (const event of events) {
      if (!sink.write(batchEventText(event))) await once(sink, 'drain', { signal });
    }
  } catch (error) {
    // The client reconnects, and finds the batch in the other shard.
    if (!signal.aborted && !isApiError(error, 'ERR_PROJECT_MOVING')) throw error;
  } finally {
    clearInterval(heartbeat);
    sink.end();
  }
}

/** Limits how many event streams one caller has open in this process. */
export interface StreamLimit {
  /**
   * Counts one stream of a holder and of a project until the signal aborts.
   * @throws ApiError ERR_TOO_MANY_STREAMS
   */
  take(by: { readonly holder: string; readonly projectId: string }, signal: AbortSignal): void;
}

/** Each stream holds a connection and polls the database every few seconds. Twenty covers a person's tabs, not a leak. */
export const MAX_STREAMS_PER_HOLDER = 20;

/** A project with many keys has three times as many. */
const MAX_STREAMS_PER_PROJECT = 60;
/** A stream ends when its client leaves, so that no time is certain. */
const RETRY_AFTER_SECONDS = 5;

export function createStreamLimit(): StreamLimit {
  const open = new Map<string, number>();
  const add = (name: string, streams: number) => {
    const count = (open.get(name) ?? 0) + streams;
    if (count === 0) open.delete(name);
    else open.set(name, count);
  };
  return {
    take({ holder, projectId }, signal) {
      const limits = [
        [`holder ${holder}`, MAX_STREAMS_PER_HOLDER],
        [`project ${projectId}`, MAX_STREAMS_PER_PROJECT],
      ] as const;
      for (const [name, max] of limits) {
        const count = open.get(name) ?? 0;
        if (count < max) continue;
        throw new ApiError('ERR_TOO_MANY_STREAMS', { open: count, max, retryAfterSeconds: RETRY_AFTER_SECONDS });
      }
      if (signal.aborted) return;
      for (const [name] of limits) add(name, 1);
      const release = () => {
        for (const [name] of limits) add(name, -1);
      };
      signal.addEventListener('abort', release, { once: true });
    },
  };
}
