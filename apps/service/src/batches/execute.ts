import { ApiError, type BatchKind, type ExecuteBatchRequest, isFinalStatus } from '@flywheel/api';
import type { Address, Base64EncodedWireTransaction } from '@solana/kit';
import { type Batch, type BatchWithoutPipelines, type ExecutionIssue, toApiError } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { checkApproval } from '../squads/approval-check.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findLandedSlot } from '../store/batches/bundles.ts';
import { askCompany } from '../store/batches/company-approvals.ts';
import { hasExecutionBegun, isInProgress, requestExecution } from '../store/batches/executions.ts';
import { isEnqueued } from '../store/jobs/lanes.ts';
import { scheduleBalanceCheck } from '../store/webhooks/vault-balance-checks.ts';
import { requireNotHalted } from './admission.ts';
import { type BatchCheck, checkBatch, toExecutionIssue } from './check/check-batch.ts';
import type { Deps } from './deps.ts';
import type { EventDeps } from './events.ts';
import {
  awaitBatch,
  type RequestedBatch,
  readBatch,
  readBatchWithoutPipelines,
  throwDamaged,
  type Wait,
} from './read.ts';
import { holdRecipients } from './recipients.ts';

export interface ExecutionRequest extends ExecuteBatchRequest {
  /** Hides batches of other kinds; absent: a batch of any kind is executed. */
  readonly kind?: BatchKind;
  /** The signed-in wallet, for the audit log; absent for API keys. */
  readonly actor?: Address;
}

export interface ExecuteDeps extends Deps, EventDeps {
  /** Bounds the checks of one project that are in progress. */
  readonly work: {
    runInTurn<Result>(
      work: 'checks before execution',
      projectId: string,
      start: () => Promise<Result>,
    ): Promise<Result>;
  };
}

/**
 * Requests the execution of a batch and waits for its end, for at most `wait`. Repeating the request joins the execution
 * that is in progress: nothing is executed twice. Returns the batch as it is when the wait is over, and at once when a
 * person must approve for the company.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_SIGNED_TX_INVALID, ERR_VAULT_UNDERFUNDED, ERR_BATCH_WOULD_FAIL,
 * ERR_BATCH_NOT_EXECUTABLE, ERR_PAUSED, ERR_PROJECT_MOVING, ERR_OPERATOR_UNFUNDED, ERR_TOO_MANY_AT_ONCE,
 * ERR_BATCH_EXECUTE_FAILED
 */
export async function executeBatch(
  deps: ExecuteDeps,
  project: Project,
  request: ExecutionRequest,
  wait: Wait,
): Promise<RequestedBatch> {
  const { batchId, kind } = request;
  const found = await readBatchWithoutPipelines(deps, project, batchId, kind);
  const hadEnded = isFinalStatus(found.status);
  if (!hadEnded) {
    // A pause does not hide the result of a batch that has ended.
    await requireNotHalted(deps, project);
    if (await hasExecutionBegun(deps.db, batchId)) {
      await continueExecution(deps, project, batchId);
    } else {
      const batch = await readBatch(deps, project, batchId, kind).catch(throwDamaged);
      const requested = await checkAndRequest(deps, project, batch, request);
      // A person may take days to approve, so the caller gets an answer now.
      if (requested === 'awaits company') {
        return { batch: await readBatchWithoutPipelines(deps, project, batchId), hadEnded };
      }
    }
  }
  const isOver = (seen: BatchWithoutPipelines) => isFinalStatus(seen.status) || isReleased(seen);
  const awaited = await awaitBatch(deps, batchId, isOver, wait);
  if (awaited.status === 'FAILED' && !(await hasExecutionBegun(deps.db, batchId))) {
    const reason = awaited.executeResult?.failedTxMsg ?? 'it ended without being executed.';
    throw new ApiError('ERR_BATCH_NOT_EXECUTABLE', { batchId, reason });
  }
  if (isReleased(awaited)) throw toApiError(awaited.executionError);
  return { batch: awaited, hadEnded };
}

/**
 * Enqueues the execution of a batch that has begun, if no job of it is left: a database may have been restored without
 * the queue.
 */
async function continueExecution({ db, jobs }: Deps, { flywheel }: Project, batchId: string): Promise<void> {
  const job = { type: 'execute', batchId, multisig: flywheel.multisig.address } as const;
  if (!(await isEnqueued(db, job))) await jobs.enqueue(db, job);
}

async function checkAndRequest(
  deps: ExecuteDeps,
  project: Project,
  batch: Batch,
  { signedTx, actor }: ExecutionRequest,
): Promise<'awaits company' | 'in progress'> {
  const { multisig } = project.flywheel;
  await checkApproval(signedTx, { batchId: batch.id, batchIndex: batch.batchIndex, multisig, nonce: batch.nonce });
  const wire = signedTx as Base64EncodedWireTransaction; // checkApproval has decoded it
  // A repeated request is judged by the worker, so it takes no place among the checks.
  const issues = batch.signedTx === wire ? [] : await findIssues(deps, project, batch, wire);
  const issue = toExecutionIssue(issues);
  if (issue?.code === 'ERR_VAULT_UNDERFUNDED') await scheduleBalanceCheck(deps.db, project.id, deps.clock.now());
  if (issue !== null) {
    await holdRecipients(deps, batch, issues);
    throw toApiError(issue);
  }
  return deps.db.transaction().execute(async (trx) => {
    const now = deps.clock.now();
    // False when another request has started or ended the batch meanwhile. This request then waits for the same end.
    if (!(await requestExecution(trx, batch.id, wire, now))) return 'in progress';
    // A repeated request with the same transaction is not logged again.
    if (actor !== undefined && wire !== batch.signedTx) {
      const entry = { at: now, actor, action: 'batch.executed', projectId: project.id, batchId: batch.id } as const;
      await insertAuditEntry(trx, entry);
    }
    if (await askCompany(trx, batch.id, now)) return 'awaits company';
    await deps.jobs.enqueue(trx, { type: 'execute', batchId: batch.id, multisig: multisig.address });
    return 'in progress';
  });
}

/** Checks a batch, unless its execution was requested while the check waited for its turn. The worker checks it then. */
function findIssues(
  deps: ExecuteDeps,
  project: Project,
  batch: Batch,
  signedTx: Base64EncodedWireTransaction,
): Promise<BatchCheck['issues']> {
  return deps.work.runInTurn('checks before execution', project.id, async () => {
    if (await isInProgress(deps.db, batch.id, signedTx)) return [];
    const landedSlot = await findLandedSlot(deps.db, batch.flywheelId);
    const check = await deps.chain.decide(landedSlot, (chain) =>
      checkBatch({ ...deps, chain }, project, batch.pipelines),
    );
    return check.issues;
  });
}

/** True when the worker found an issue before it sent anything, and released the request. */
function isReleased(
  batch: BatchWithoutPipelines,
): batch is BatchWithoutPipelines & { readonly executionError: ExecutionIssue } {
  return batch.signedTx === null && batch.executionError !== null;
}
