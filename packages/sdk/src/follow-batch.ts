import type { Batch } from '@flywheel/api';
import type { FlywheelClient } from './client.ts';
import { FlywheelError } from './errors.ts';
import { sleep } from './sleep.ts';

export interface FollowBatchOptions {
  /** Told of the batch as first read, and of every change after. */
  readonly onChange?: (batch: Batch) => void;
  /** Where to stop; at the batch’s end by default. */
  readonly until?: (batch: Batch) => boolean;
  /** How long to follow; without it there is no bound. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 200;
/** With growing pauses a few followers on one key stay below the service’s 10 reads a second. */
const LAST_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.3;

/**
 * Polls a batch until it has ended, or until what `until` says.
 * @throws FlywheelError `ERR_TIMED_OUT` after `timeoutMs`, and any of getBatch.
 *
 * @example
 * const ended = await followBatch(client, batch.id, { onChange: ({ status }) => console.log(status) });
 */
export async function followBatch(
  client: FlywheelClient,
  batchId: string,
  { onChange, until = isFinal, timeoutMs = Number.POSITIVE_INFINITY, signal }: FollowBatchOptions = {},
): Promise<Batch> {
  const deadlineMs = Date.now() + timeoutMs;
  let seen: string | null = null;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LAST_PAUSE_MS)) {
    const batch = await client.getBatch(batchId, signal ? { signal } : {});
    const look = JSON.stringify([batch.status, batch.executionError, batch.initResult, batch.executeResult]);
    if (look !== seen) {
      // What changes once may change again soon.
      pauseMs = FIRST_PAUSE_MS;
      seen = look;
      onChange?.(batch);
    }
    if (until(batch)) return batch;
    if (Date.now() + pauseMs > deadlineMs) {
      throw new FlywheelError({
        code: 'ERR_TIMED_OUT',
        message: `Batch ${batchId} is still ${batch.status} after ${timeoutMs / 1_000} s; it goes on without this client.`,
      });
    }
    await sleep(pauseMs, signal);
  }
}

/** Whether a batch has ended: nothing will change it any more. */
export function isFinal({ status }: Pick<Batch, 'status'>): boolean {
  return status === 'EXECUTED' || status === 'FAILED';
}
