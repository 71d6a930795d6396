import type { Readable } from 'node:stream';
import { isFlywheelError } from '@flywheel/sdk';
import type { Collector } from '@flywheel/sdk/collector';
import { splitLines } from '../../lines.ts';
import { parseEvent } from './event.ts';

/** A line that no service would accept. */
export interface InvalidLine {
  /** Number of the line, from 1. */
  readonly line: number;
  /** Its id as far as it was read; null if it has none. */
  readonly id: string | null;
  readonly error: string;
  readonly message: string;
}

/** Errors that are facts about one line. */
const LINE_ERRORS = ['ERR_INVALID_REQUEST', 'ERR_FLYWHEEL_PIPELINE_TOO_BIG', 'ERR_ITEM_CHANGED'] as const;

/** Lines between stdin and the store: they share writes, each of which waits for the disk. */
const MAX_IN_FLIGHT = 500;

/**
 * Collects the events of a stream, one per line, and resolves when all of them are stored: at its end, or when it is destroyed
 * because the collector stops.
 * @param onInvalid called for each line that is not accepted.
 * @throws every error that is not about a line.
 */
export async function readLines(
  input: Readable,
  collector: Pick<Collector, 'collect' | 'stopped'>,
  onInvalid: (line: InvalidLine) => void,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  let line = 0;
  const { signal } = collector.stopped;

  async function collect(bytes: Buffer, line: number): Promise<void> {
    let id: string | null = null;
    try {
      const event = parseEvent(bytes);
      ({ id } = event);
      await collector.collect(event);
    } catch (error) {
      const code = LINE_ERRORS.find((each) => isFlywheelError(error, each));
      if (code && isFlywheelError(error)) onInvalid({ line, id, error: code, message: error.message });
      else failure ??= { error };
    }
  }

  try {
    for await (const bytes of splitLines(input)) {
      line += 1;
      if (bytes.toString().trim() === '') continue;
      const collected = collect(bytes, line);
      inFlight.add(collected);
      collected.finally(() => inFlight.delete(collected));
      if (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
      if (failure !== null || signal.aborted) break;
    }
  } catch (error) {
    // The stream is destroyed when the collector stops.
    if (!signal.aborted) throw error;
  }
  await Promise.all(inFlight);
  // TypeScript does not see that collect assigns it.
  const failed = failure as { readonly error: unknown } | null;
  if (failed !== null) throw failed.error;
}
