import type { BatchWithoutPipelines } from '../model/batch.ts';
import { findBatchWithoutPipelines } from '../store/batches/batches.ts';
import type { Deps } from './deps.ts';

export interface Wait {
  readonly waitMs: number;
  /** Ends the wait early: the work goes on without it. */
  readonly signal: AbortSignal;
}

/** A batch of five pipelines executes in about a second: a fraction of that is not felt. */
const POLL_INTERVAL_MS = 150;

/** A batch as soon as it is as awaited, or as it is when the wait is over. */
export async function awaitBatch(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  batchId: string,
  isAwaited: (batch: BatchWithoutPipelines) => boolean,
  { waitMs, signal }: Wait,
): Promise<BatchWithoutPipelines> {
  const deadline = clock.now().getTime() + waitMs;
  for (;;) {
    const batch = await findBatchWithoutPipelines(db, batchId);
    if (!batch) throw new Error(`Batch ${batchId} vanished while it was waited for.`);
    if (isAwaited(batch) || signal.aborted || clock.now().getTime() >= deadline) return batch;
    await clock.sleep(POLL_INTERVAL_MS);
  }
}
