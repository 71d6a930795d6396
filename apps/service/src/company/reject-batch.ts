import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { recordEnd } from '../batches/jobs/end.ts';
import type { BatchWithoutPipelines } from '../model/batch.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { decideForCompany, findCompanyDecision } from '../store/company/approvals.ts';
import { findProjectOfBatch } from '../store/projects/projects.ts';
import { notWaiting } from './not-waiting.ts';
import { readAnyBatch } from './read-any-batch.ts';

/**
 * Rejects a batch for the company: it ends FAILED with the reason, its limits are given back, and the worker votes it down
 * on chain and closes its accounts. Repeating answers the same, and the first reason stays.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_BATCH_NOT_WAITING
 */
export async function rejectBatch(
  deps: Deps,
  operator: Address,
  batchId: string,
  reason: string,
): Promise<BatchWithoutPipelines> {
  const { projectId } = await readAnyBatch(deps, batchId);
  const project = await findProjectOfBatch(deps.db, { projectId });
  const now = deps.clock.now();
  await deps.db.transaction().execute(async (trx) => {
    // The row stays locked: nothing of it begins, and it does not end otherwise, before this commits.
    if (!(await decideForCompany(trx, batchId, { operator, reason }, now))) return;
    await recordEnd(deps, trx, project, await readAnyBatch({ db: trx }, batchId), {
      event: 'ENDED_UNEXECUTED',
      cause: 'rejected',
      executed: 0,
      failure: { failedTxMsg: `The company rejected the batch: ${reason}` },
    });
    await insertAuditEntry(trx, { at: now, actor: operator, action: 'batch.rejected', projectId, batchId, reason });
  });
  const batch = await readAnyBatch(deps, batchId);
  const decision = await findCompanyDecision(deps.db, batchId);
  if (decision.decidedAt === null || decision.reason === null) throw notWaiting(batch, decision);
  return batch;
}
