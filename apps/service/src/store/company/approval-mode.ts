import type { ApprovalMode } from '@flywheel/api';
import type { Db } from '../db.ts';

/** Sets who approves a project's batches for the company; what it was before, or null when there is no such project. */
export async function setApprovalMode(
  trx: Db,
  projectId: string,
  approvalMode: ApprovalMode,
): Promise<ApprovalMode | null> {
  const before = await trx
    .selectFrom('projects')
    .select('approval_mode')
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) return null;
  await trx.updateTable('projects').set({ approval_mode: approvalMode }).where('id', '=', projectId).execute();
  return before.approval_mode;
}
