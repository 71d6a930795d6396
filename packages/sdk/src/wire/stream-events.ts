import { BatchEvent, OPERATIONS } from '@flywheel/api';
import { MAX_ANSWER_BYTES, readText, sleep } from '@flywheel/solana-rpc';
import { createParser } from 'eventsource-parser';
import { FlywheelError, isFlywheelError } from '../errors.ts';
import { type Connection, errorOf, urlOf } from './request.ts';
import { retry } from './retry.ts';

export interface StreamEventsOptions {
  readonly batchId: string;
  /** Id of the last event that is known; the stream continues after it. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

// The service sends something every 15 s. A connection that is silent for three times as long is broken.
const SILENCE_MS = 45_000;
/** The service asks for it in its streams. */
const RECONNECT_PAUSE_MS = 1_000;

/**
 * Streams a batch's events as they happen, each one once, over as many connections as it takes, until the last one.
 * @throws FlywheelError of the service, or `ERR_UNREACHABLE` if it cannot be reached again.
 */
export async function* streamEvents(
  connection: Connection,
  { batchId, after, signal }: StreamEventsOptions,
): AsyncGenerator<BatchEvent, void, undefined> {
  let lastId = after;
  for (;;) {
    let line = new AbortController();
    const watchdog = startWatchdog((reason) => line.abort(reason));
    try {
      const open = () => {
        // The one before may have been silent for too long, or the wait after it was longer.
        line = new AbortController();
        watchdog.reset();
        return openStream(connection, batchId, lastId, AbortSignal.any([line.signal, ...(signal ? [signal] : [])]));
      };
      const { maxAttempts, onRetry } = connection;
      const body = await retry({ maxAttempts, onRetry, signal, mayRetry: isTransient }, open);
      if (body === null) return;
      for await (const text of readEvents(body, watchdog.reset)) {
        const event = parseEvent(text);
        if (event === null) continue;
        lastId = event.id;
        yield event;
        if (event.type === 'batch.closed') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // The connection broke in the middle: the next one continues after the last id.
      if (isFlywheelError(error)) throw error;
      connection.onRetry?.({ error: connectionLost(connection, error), waitMs: RECONNECT_PAUSE_MS });
    } finally {
      watchdog.stop();
      line.abort();
    }
    await sleep(RECONNECT_PAUSE_MS, signal);
  }
}

/** Opens a connection; null if the batch has no more events. */
async function openStream(
  connection: Connection,
  batchId: string,
  lastId: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | null> {
  const operation = OPERATIONS.streamBatchEvents;
  let response: Response;
  try {
    response = await (connection.fetch ?? fetch)(urlOf(connection, operation, { params: { batchId } }), {
      headers: {
        accept: 'text/event-stream',
        ...connection.headers,
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      signal,
    });
  } catch (cause) {
    throw connectionLost(connection, cause);
  }
  if (response.status === 204) return null;
  if (response.status === 200 && response.body) return response.body;
  throw errorOf(operation, response, await readText(response));
}

/**
 * Yields the data of each event of a stream.
 * @param onBytes called for every chunk, comments included.
 */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<string, void, undefined> {
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data), maxBufferSize: MAX_ANSWER_BYTES });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* arrived.splice(0);
    }
  } finally {
    // A caller who leaves the loop needs no more events. A stream that failed has nothing to cancel.
    await reader.cancel().catch(() => undefined);
  }
}

function isTransient({ code, status }: FlywheelError): boolean {
  return code === 'ERR_UNREACHABLE' || status === 429 || (status ?? 0) >= 500;
}

function connectionLost({ url }: Connection, cause: unknown): FlywheelError {
  return new FlywheelError({ code: 'ERR_UNREACHABLE', message: `The connection to ${url} is lost.`, cause });
}

/** Parses an event; null for a type that is newer than this client, which the caller does not receive. */
function parseEvent(text: string): BatchEvent | null {
  try {
    const { success, data: event } = BatchEvent.safeParse(JSON.parse(text));
    return success ? event : null;
  } catch (cause) {
    const message = `An event is not JSON: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`;
    throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message, cause });
  }
}

const MAX_QUOTED_CHARACTERS = 200;

/** Calls `abort` for a connection on which nothing arrives. */
function startWatchdog(abort: (reason: Error) => void) {
  const end = () => abort(new Error(`Nothing arrived for ${SILENCE_MS / 1_000} s.`));
  let timer = setTimeout(end, SILENCE_MS);
  return {
    reset: () => {
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
    },
    stop: () => clearTimeout(timer),
  };
}
