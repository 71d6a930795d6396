import { ApiError, type ExecuteBatchRequest } from '@flywheel/api';
import type { Address, Base64EncodedWireTransaction } from '@solana/kit';
import { type Batch, type BatchWithoutPipelines, type ExecutionIssue, isFinal, toApiError } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { checkApproval } from '../squads/approval-check.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { hasExecutionBegun, requestExecution } from '../store/batches/executions.ts';
import { askCompany } from '../store/company/approvals.ts';
import { DamagedRecord } from '../store/damaged-record.ts';
import { scheduleBalanceCheck } from '../store/webhooks/vault-watch.ts';
import { awaitBatch, type Wait } from './await-batch.ts';
import { checkBatch, toExecutionIssue } from './check/check-batch.ts';
import type { Deps } from './deps.ts';
import { readBatch, readBatchWithoutPipelines } from './read.ts';
import { requireUnpausedProject } from './refuse-paused.ts';

/**
 * Asks for a batch to be executed and waits for its end for at most `wait`. Repeating joins what was sent before:
 * nothing is ever executed twice. Answers the batch as it is when the wait is over; at once where a person has to approve
 * for the company. `actor` is the wallet that is signed in, for the audit log.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_SIGNED_TX_INVALID, ERR_VAULT_UNDERFUNDED, ERR_BATCH_WOULD_FAIL,
 * ERR_BATCH_NOT_EXECUTABLE, ERR_PAUSED, ERR_BATCH_EXECUTE_FAILED
 */
export async function executeBatch(
  deps: Deps,
  project: Project,
  execution: ExecuteBatchRequest & { readonly actor?: Address },
  wait: Wait,
): Promise<BatchWithoutPipelines> {
  const { batchId } = execution;
  const batch = await readBatch(deps, project, batchId).catch(refuseDamaged);
  // How a batch has ended may be read at any time.
  if (!isFinal(batch.status)) await requireUnpausedProject(deps, project);
  if (!isFinal(batch.status) && !(await hasExecutionBegun(deps.db, batchId))) {
    // A person may take days, and the caller is told at once.
    if ((await request(deps, project, batch, execution)) === 'waits for company') {
      return readBatchWithoutPipelines(deps, project, batchId);
    }
  }
  const isOver = (seen: BatchWithoutPipelines) => isFinal(seen.status) || isStopped(seen);
  const awaited = await awaitBatch(deps, batchId, isOver, wait);
  if (awaited.status === 'FAILED' && !(await hasExecutionBegun(deps.db, batchId))) {
    const reason = awaited.executeResult?.failedTxMsg ?? 'it ended without being executed.';
    throw new ApiError('ERR_BATCH_NOT_EXECUTABLE', { batchId, reason });
  }
  if (isStopped(awaited)) throw toApiError(awaited.executionError);
  return awaited;
}

function refuseDamaged(error: unknown): never {
  if (error instanceof DamagedRecord) throw new ApiError('ERR_BATCH_WOULD_FAIL', { problems: [error.message] });
  throw error;
}

async function request(
  deps: Deps,
  project: Project,
  batch: Batch,
  { signedTx, actor }: Parameters<typeof executeBatch>[2],
): Promise<'waits for company' | 'goes on'> {
  const { multisig } = project.flywheel;
  await checkApproval(signedTx, { batchId: batch.id, batchIndex: batch.batchIndex, multisig, nonce: batch.nonce });
  const issue = toExecutionIssue((await checkBatch(deps, project, batch.pipelines)).problems);
  if (issue?.code === 'ERR_VAULT_UNDERFUNDED') await scheduleBalanceCheck(deps.db, project.id, deps.clock.now());
  if (issue !== null) throw toApiError(issue);
  return deps.db.transaction().execute(async (trx) => {
    const wire = signedTx as Base64EncodedWireTransaction; // checkApproval has decoded it whole
    const now = deps.clock.now();
    // Not requested: another request was sent or ended the batch meanwhile, which this one then joins.
    if (!(await requestExecution(trx, batch.id, wire, now))) return 'goes on';
    // Repeating is nothing new.
    if (actor !== undefined && signedTx !== batch.signedTx) {
      const entry = { at: now, actor, action: 'batch.executed', projectId: project.id, batchId: batch.id } as const;
      await insertAuditEntry(trx, entry);
    }
    if (await askCompany(trx, batch.id, now)) return 'waits for company';
    await deps.jobs.enqueue(trx, { type: 'execute', batchId: batch.id, multisig: multisig.address });
    return 'goes on';
  });
}

/** The worker gave the request back before it sent anything. */
function isStopped(
  batch: BatchWithoutPipelines,
): batch is BatchWithoutPipelines & { readonly executionError: ExecutionIssue } {
  return batch.signedTx === null && batch.executionError !== null;
}
