import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import type { BatchEvent, EventStream } from '@flywheel/api';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';

/** Proxies and load balancers give up on a silent connection after 30 s at the soonest. */
const HEARTBEAT_MS = 15_000;
/** How long a client waits before it connects again. */
const RETRY_MS = 1_000;
/** What was sent last is read by then, or never. */
const HANG_UP_MS = 2_000;
/** Long enough to be no burden, short enough that a revoked key or an ended session does not listen for long. */
const MAX_STREAM_MS = 10 * 60_000;

/**
 * Answers with events as they happen (HTML, "Server-sent events"), until they end, the caller is gone, the server closes
 * or the time is up: whoever wants more connects again with the id of the last, which it is told with each.
 * @throws what the stream throws before it begins; later failures end it.
 */
export function sendEvents(
  reply: FastifyReply,
  open: EventStream<BatchEvent>,
  { closing, log }: { readonly closing: AbortSignal; readonly log: Logger },
): FastifyReply {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  if (reply.raw.destroyed) gone.abort();
  const signal = AbortSignal.any([gone.signal, closing, AbortSignal.timeout(MAX_STREAM_MS)]);
  const events = open(signal);
  const sink = new PassThrough();
  const { socket } = reply.raw;
  void pump(events, sink, signal)
    .catch((error: unknown) => log.error({ err: error }, 'a stream of events broke off'))
    .finally(() => socket && hangUp(socket));
  return reply
    .status(200)
    .headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // Whenever it ends: one that the server ends to close would leave an idle connection to be waited for.
      connection: 'close',
      // nginx holds answers back otherwise.
      'x-accel-buffering': 'no',
    })
    .send(sink);
}

/** A caller who does not read what he has asked for would hold up the server’s end until his connection times out. */
function hangUp(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), HANG_UP_MS);
  socket.once('close', () => clearTimeout(timer));
}

async function pump(events: AsyncIterable<BatchEvent>, sink: PassThrough, signal: AbortSignal): Promise<void> {
  sink.write(`retry: ${RETRY_MS}\n\n`);
  const heartbeat = setInterval(() => sink.write(':\n\n'), HEARTBEAT_MS);
  try {
    for await (const event of events) {
      if (!sink.write(frame(event))) await once(sink, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
    sink.end();
  }
}

function frame(event: BatchEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
