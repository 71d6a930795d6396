import { BatchEvent, OPERATIONS } from '@flywheel/api';
import { FlywheelError, isFlywheelError } from '../errors.ts';
import { sleep } from '../sleep.ts';
import { readReply } from './read-reply.ts';
import { repeat } from './repeat.ts';
import { type Connection, targetOf } from './request.ts';
import { splitEvents } from './split-events.ts';

export interface StreamEventsOptions {
  readonly batchId: string;
  /** Id of the last event that is known: those after it are told. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The service says something every 15 s; what is silent for three times as long is broken. */
const SILENCE_MS = 45_000;
/** As the service asks for in its streams. */
const RECONNECT_PAUSE_MS = 1_000;

/**
 * A batch’s events as they happen, every one once, over as many connections as it takes, until the last one.
 * @throws FlywheelError of the service, and `ERR_UNREACHABLE` when it cannot be reached again.
 */
export async function* streamEvents(
  connection: Connection,
  { batchId, after, signal }: StreamEventsOptions,
): AsyncGenerator<BatchEvent, void, undefined> {
  let lastId = after;
  for (;;) {
    const line = new AbortController();
    const watch = watchdog(line);
    try {
      const open = () =>
        openStream(connection, batchId, lastId, AbortSignal.any([line.signal, ...(signal ? [signal] : [])]));
      const { maxAttempts, onRetry } = connection;
      const body = await repeat({ maxAttempts, onRetry, signal, mayRepeat: isPassing }, open);
      if (body === null) return;
      for await (const text of splitEvents(body, watch.heard)) {
        const event = readEvent(text);
        if (event === null) continue;
        lastId = event.id;
        yield event;
        if (event.type === 'batch.closed') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      // A connection that broke off in the middle: what came is known by its id, the rest is asked for.
      if (isFlywheelError(error)) throw error;
      connection.onRetry?.({ error: brokenOff(connection, error), waitMs: RECONNECT_PAUSE_MS });
    } finally {
      watch.stop();
      line.abort();
    }
    await sleep(RECONNECT_PAUSE_MS, signal);
  }
}

/** null when there is nothing more to tell. */
async function openStream(
  connection: Connection,
  batchId: string,
  lastId: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | null> {
  const operation = OPERATIONS.streamBatchEvents;
  let response: Response;
  try {
    response = await (connection.fetch ?? fetch)(targetOf(connection, operation, { params: { batchId } }), {
      headers: {
        accept: 'text/event-stream',
        ...connection.headers,
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      signal,
    });
  } catch (cause) {
    throw brokenOff(connection, cause);
  }
  if (response.status === 204) return null;
  if (response.status === 200 && response.body) return response.body;
  // No other status is documented, so this throws what the service said.
  readReply({ ...operation, responses: {} }, response, await response.text());
  return null;
}

function isPassing({ code, status }: FlywheelError): boolean {
  return code === 'ERR_UNREACHABLE' || status === 429 || (status ?? 0) >= 500;
}

function brokenOff({ url }: Connection, cause: unknown): FlywheelError {
  return new FlywheelError({ code: 'ERR_UNREACHABLE', message: `The connection to ${url} is lost.`, cause });
}

/** null for an event of a kind that this client does not know yet, which is none of its caller’s. */
function readEvent(text: string): BatchEvent | null {
  try {
    const { success, data: event } = BatchEvent.safeParse(JSON.parse(text));
    return success ? event : null;
  } catch (cause) {
    const message = `An event came that is no JSON: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`;
    throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message, cause });
  }
}

const MAX_QUOTED_CHARACTERS = 200;

/** Ends a connection on which nothing is heard any more. */
function watchdog(line: AbortController) {
  const end = () => line.abort(new Error(`Nothing was heard for ${SILENCE_MS / 1_000} s.`));
  let timer = setTimeout(end, SILENCE_MS);
  return {
    heard: () => {
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
    },
    stop: () => clearTimeout(timer),
  };
}
