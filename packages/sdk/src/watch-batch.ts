import { type Batch, isFinalStatus } from '@flywheel/api';
import { sleep } from '@flywheel/solana-rpc';
import type { FlywheelClient } from './client.ts';
import { FlywheelError } from './errors.ts';

export interface WatchBatchOptions {
  /** Called with the batch as first read, and after every change. */
  readonly onChange?: (batch: Batch) => void;
  /** Ends the watch when it returns true; by default when the batch has ended. */
  readonly until?: (batch: Batch) => boolean;
  /** Bound of the watch; none by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 200;
// With growing pauses a few watchers on one key stay below the service's 10 reads a second.
const LAST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.3;

/**
 * Polls a batch until it has ended, or until `until` returns true.
 * @returns the batch as last read.
 * @throws FlywheelError `ERR_TIMED_OUT` after `timeoutMs`, and every error of `getBatch`.
 *
 * @example
 * const ended = await watchBatch(client, batch.id, { onChange: ({ status }) => console.log(status) });
 */
export async function watchBatch(
  client: Pick<FlywheelClient, 'getBatch'>,
  batchId: string,
  { onChange, until = isFinal, timeoutMs = Number.POSITIVE_INFINITY, signal }: WatchBatchOptions = {},
): Promise<Batch> {
  const deadlineMs = performance.now() + timeoutMs;
  let lastState: string | null = null;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LAST_PAUSE_MS)) {
    const batch = await client.getBatch(batchId, { signal });
    const { status, executionError, awaitsCompany, initResult, executeResult } = batch;
    const state = JSON.stringify([status, executionError, awaitsCompany, initResult, executeResult]);
    if (state !== lastState) {
      // After one change the next one may come soon.
      pauseMs = FIRST_PAUSE_MS;
      lastState = state;
      onChange?.(batch);
    }
    if (until(batch)) return batch;
    if (performance.now() + pauseMs > deadlineMs) throw stillOpen(batch, timeoutMs);
    await sleep(pauseMs, signal);
  }
}

/** True if a batch has ended: it will not change any more. */
export function isFinal({ status }: Pick<Batch, 'status'>): boolean {
  return isFinalStatus(status);
}

/** Creates the error of a batch that has not ended in time. */
export function stillOpen({ id, status }: Pick<Batch, 'id' | 'status'>, timeoutMs: number): FlywheelError {
  return new FlywheelError({
    code: 'ERR_TIMED_OUT',
    message: `Batch ${id} is still ${status} after ${timeoutMs / 1_000} s. The service continues to work on it.`,
  });
}
