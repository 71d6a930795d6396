import { ApiError, type ApprovalMode, type ProjectSettings } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { presentSettings } from '../projects/settings/settings.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { setApprovalMode } from '../store/company/approval-mode.ts';
import { findProject } from '../store/projects/projects.ts';

/**
 * Changes who approves a project's batches for the company. Made manual, nothing is signed from then on that nobody has
 * approved, an execution that was asked for before included; made automatic, what waits for a person waits on.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function changeApprovalMode(
  { db, clock }: Deps,
  operator: Address,
  projectId: string,
  approvalMode: ApprovalMode,
): Promise<ProjectSettings> {
  return db.transaction().execute(async (trx) => {
    const before = await setApprovalMode(trx, projectId, approvalMode);
    const project = await findProject(trx, projectId);
    if (before === null || project === null || typeof project === 'string') {
      throw new ApiError('ERR_PROJECT_NOT_FOUND', { projectId });
    }
    if (before !== approvalMode) {
      await insertAuditEntry(trx, {
        at: clock.now(),
        actor: operator,
        action: 'approval-mode.changed',
        projectId,
        before: { approvalMode: before },
        after: { approvalMode },
      });
    }
    return presentSettings(project);
  });
}
