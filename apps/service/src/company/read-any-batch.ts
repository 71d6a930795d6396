import { ApiError } from '@flywheel/api';
import type { Deps } from '../batches/deps.ts';
import type { Batch } from '../model/batch.ts';
import { findBatch } from '../store/batches/batches.ts';

/**
 * A batch of any project.
 * @throws ApiError ERR_BATCH_NOT_FOUND
 */
export async function readAnyBatch({ db }: Pick<Deps, 'db'>, batchId: string): Promise<Batch> {
  const batch = await findBatch(db, batchId);
  if (!batch) throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
  return batch;
}
