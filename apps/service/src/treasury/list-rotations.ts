import type { Deps } from '../batches/deps.ts';
import type { Batch } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { findRotations, type RotationRecord, replacementOf } from '../store/batches/rotations.ts';

/** As many as anyone scrolls through; the history has them all. */
const MAX_LISTED = 100;

/** Who has replaced whom in a project, newest first, and who is about to. */
export async function listRotations({ db }: Pick<Deps, 'db'>, { id }: Project): Promise<RotationRecord[]> {
  return findRotations(db, id, MAX_LISTED);
}

/** A rotation as the list has it. */
export function rotationOf(batch: Batch): RotationRecord {
  const { id: batchId, status, createdAt, endedAt } = batch;
  return { ...replacementOf(batch), batchId, status, createdAt, endedAt };
}
