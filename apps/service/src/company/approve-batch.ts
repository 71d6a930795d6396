import { ApiError, isApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { checkBatch, toExecutionIssue } from '../batches/check/check-batch.ts';
import { describeMismatch, findMismatchedPipeline, findNonceMismatch } from '../batches/check/mismatches.ts';
import type { Deps } from '../batches/deps.ts';
import { readProgress } from '../batches/jobs/progress.ts';
import type { Batch, BatchWithoutPipelines, ExecutionIssue } from '../model/batch.ts';
import { toApiError } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { checkApproval } from '../squads/approval-check.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { recordExecutionIssue } from '../store/batches/executions.ts';
import { decideForCompany, findCompanyDecision } from '../store/company/approvals.ts';
import { findProjectOfBatch } from '../store/projects/projects.ts';
import { notWaiting } from './not-waiting.ts';
import { readAnyBatch } from './read-any-batch.ts';

/**
 * Approves a batch for the company: what was checked when its execution was asked for is checked again, the decision is
 * recorded once, and the worker goes on. Repeating, also by another operator, answers the same.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_BATCH_NOT_WAITING, ERR_OWN_BATCH; ERR_VAULT_UNDERFUNDED, ERR_BATCH_WOULD_FAIL, after which the
 * batch waits on; ERR_SIGNED_TX_INVALID, after which the wallet has to sign again.
 */
export async function approveBatch(deps: Deps, operator: Address, batchId: string): Promise<BatchWithoutPipelines> {
  const batch = await readAnyBatch(deps, batchId);
  if (await isWaiting(deps, batch)) {
    const project = await findProjectOfBatch(deps.db, batch);
    // Two approvals are two people's.
    if (project.wallet === operator) throw new ApiError('ERR_OWN_BATCH', { batchId });
    const issue = await checkAgain(deps, project, batch);
    if (issue !== null) {
      // The project reads it too: it is who can mend it.
      const keepRequest = issue.code !== 'ERR_SIGNED_TX_INVALID';
      const { signedTx: judged } = batch;
      await recordExecutionIssue(deps.db, batchId, issue, { keepRequest, judged }, deps.clock.now());
      throw toApiError(issue);
    }
    await record(deps, project, batch, operator);
  }
  return readApproved(deps, batchId);
}

async function isWaiting({ db }: Deps, { id, endedAt }: Batch): Promise<boolean> {
  const { askedAt, decidedAt } = await findCompanyDecision(db, id);
  return endedAt === null && askedAt !== null && decidedAt === null;
}

/** What stands against it as the chain is now, or null. The worker looks once more before it signs. */
async function checkAgain(deps: Deps, project: Project, batch: Batch): Promise<ExecutionIssue | null> {
  const { multisig } = project.flywheel;
  // Not on chain yet: there is nothing there to compare with, and the worker compares it.
  const progress = batch.status === 'FINALIZED' ? await readProgress(deps, multisig, batch) : null;
  // A chain that knows more than the database: nothing is left to approve, and the worker reads what came of it.
  if (progress?.status === 'Executed') return null;
  const hasVoted = progress?.approved.includes(multisig.wallet) ?? false;
  // The wallet's own vote on chain makes its signature needless.
  const problem = hasVoted ? null : await findApprovalProblem(deps, project, batch);
  if (problem !== null) return { code: 'ERR_SIGNED_TX_INVALID', context: { problem } };
  if (progress !== null) {
    if (progress.status !== 'Active' && progress.status !== 'Approved')
      return wouldFail(`Its proposal is ${progress.status} on chain. Reject the batch.`);
    const foreign = await findMismatchedPipeline(deps, multisig, batch);
    if (foreign !== null) return wouldFail(`${describeMismatch(foreign, batch)} Reject the batch.`);
  }
  const issue = toExecutionIssue((await checkBatch(deps, project, batch.pipelines)).issues);
  if (issue !== null || progress === null || hasVoted) return issue;
  return simulateApproval(deps, batch);
}

async function findApprovalProblem(deps: Deps, { flywheel }: Project, batch: Batch): Promise<string | null> {
  const { multisig } = flywheel;
  const { id: batchId, batchIndex, nonce, signedTx } = batch;
  if (signedTx === null) throw new Error(`Batch ${batchId} waits for the company and has no signed approval.`);
  try {
    await checkApproval(signedTx, { batchId, batchIndex, multisig, nonce });
  } catch (error) {
    if (isApiError(error, 'ERR_SIGNED_TX_INVALID')) return error.context.problem;
    throw error;
  }
  return findNonceMismatch(deps, multisig, batch);
}

/** As far as it goes without the company's and the operator's signatures, which this process cannot give. */
async function simulateApproval({ chain }: Deps, { signedTx }: Batch): Promise<ExecutionIssue | null> {
  if (signedTx === null) return null;
  const { err } = await chain.simulate(signedTx, { sigVerify: false, replaceRecentBlockhash: false });
  return err === null ? null : wouldFail(`The approval fails: ${err}.`);
}

function wouldFail(problem: string): ExecutionIssue {
  return { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: [problem] } };
}

/** Of two operators at once one decides, and the batch is executed by one job. */
async function record({ db, jobs, clock }: Deps, project: Project, batch: Batch, operator: Address): Promise<void> {
  const now = clock.now();
  await db.transaction().execute(async (trx) => {
    if (!(await decideForCompany(trx, batch.id, { operator, reason: null }, now))) return;
    const { id: batchId, projectId } = batch;
    await insertAuditEntry(trx, { at: now, actor: operator, action: 'batch.approved', projectId, batchId });
    await jobs.enqueue(trx, { type: 'execute', batchId, multisig: project.flywheel.multisig.address });
  });
}

async function readApproved(deps: Deps, batchId: string): Promise<BatchWithoutPipelines> {
  const batch = await readAnyBatch(deps, batchId);
  const decision = await findCompanyDecision(deps.db, batchId);
  if (decision.decidedAt === null || decision.reason !== null) throw notWaiting(batch, decision);
  return batch;
}
