import { ApiError } from '@flywheel/api';
import { throwDamaged } from '../batches/read.ts';
import type { Batch } from '../model/batch.ts';
import { type Project, projectMoving } from '../model/project.ts';
import { findBatch } from '../store/batches/batches.ts';
import type { Db } from '../store/db.ts';
import { findProjectIfHere } from '../store/projects/projects.ts';
import { hasDeparted, isMoving } from '../store/shards/directory.ts';

/**
 * Finds a batch of any project, and its project. A settled batch may be here without its project, as a copy that a move has made
 * ahead: this shard does not know it.
 * @throws ApiError ERR_BATCH_NOT_FOUND; ERR_PROJECT_MOVING if its project has left this shard, or if it may be of one
 * that has and is in no shard.
 */
export async function requireAnyBatch(
  db: Db,
  batchId: string,
): Promise<{ readonly batch: Batch; readonly project: Project }> {
  const batch = await findBatch(db, batchId).catch(throwDamaged);
  const project = batch && (await findProjectIfHere(db, batch.projectId));
  if (batch && project) return { batch, project };
  if (batch ? await hasDeparted(db, batch) : await isMoving(db)) throw projectMoving();
  throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId });
}
