import { ApiError, type Approvals, asSentence, type DecisionSignature, isFinalStatus } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { findUnapprovedOnChain } from '../batches/cancel.ts';
import { checkBatch, toExecutionIssue } from '../batches/check/check-batch.ts';
import { describeMismatch, findMismatchedPipeline, findNonceMismatch } from '../batches/check/mismatches.ts';
import { throwIfUnrelated } from '../batches/check/simulate.ts';
import { compileAgain } from '../batches/compile-again.ts';
import { findIssueOfBatchDecision, invalidSignature, readSignature, usedSignature } from '../batches/decisions.ts';
import type { Deps } from '../batches/deps.ts';
import { type ListItem, toItems } from '../batches/details/list.ts';
import { recordEnd } from '../batches/jobs/end.ts';
import { readProgress } from '../batches/jobs/progress.ts';
import { findBoundVersions, judge } from '../batches/policy/at-signing.ts';
import { throwDamaged } from '../batches/read.ts';
import {
  type Batch,
  type BatchWithoutPipelines,
  describeRejection,
  type ExecutionIssue,
  toApiError,
} from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { NodeBehind } from '../solana/node-unavailable.ts';
import type { TokenNames } from '../solana/token-names.ts';
import { findApprovalIssue } from '../squads/approval-check.ts';
import { insertAuditEntry } from '../store/audit.ts';
import type { CompanyDecision } from '../store/batches/batch-records.ts';
import { findLandedSlot } from '../store/batches/bundles.ts';
import {
  decideForCompany,
  findApprovers,
  findCompanyDecision,
  findWaitingBatches,
  insertPartialApproval,
  lockWaiting,
  type SignedCompanyDecision,
  type WaitingBatch,
} from '../store/batches/company-approvals.ts';
import { lockUnbegun } from '../store/batches/ends.ts';
import { recordExecutionIssue } from '../store/batches/executions.ts';
import type { Db } from '../store/db.ts';
import { findNonceSlot } from '../store/nonces.ts';
import { requireAnyBatch } from './require-batch.ts';

export interface WaitingItem extends WaitingBatch, ListItem {
  /** Of the token; null without one, and while the cluster does not answer. */
  readonly symbol: string | null;
}

/** Bounds the list. The next batches appear when these are decided. */
const MAX_LISTED = 100;

/**
 * Lists the batches that wait for a person's decision, oldest first. One project cannot fill the list before others.
 * @param only.batchId lists this batch alone, if it waits; null lists those of all projects.
 */
export async function listWaiting(
  {
    db,
    clock,
    companyOperators,
    tokenNames,
  }: Pick<Deps, 'db' | 'clock' | 'companyOperators'> & { readonly tokenNames: TokenNames },
  { batchId }: { readonly batchId: string | null },
): Promise<WaitingItem[]> {
  const count = { operators: companyOperators, now: clock.now() };
  const batches = await findWaitingBatches(db, { batchId, limit: MAX_LISTED }, count);
  const names = await tokenNames.of(batches.map(({ mint }) => mint));
  return (await toItems(db, batches)).map((batch) => ({ ...batch, symbol: names.get(batch.mint)?.symbol ?? null }));
}

/** A batch after an approval. */
export interface ApprovedBatch {
  readonly batch: BatchWithoutPipelines;
  /** Approvals that count, while another operator must approve as well; null if it is decided. */
  readonly approvals: Approvals | null;
}

/**
 * Approves a batch for the company: checks it again, records the signed decision once, and enqueues its execution. Repeating
 * the approval, also by another operator, returns the same. If a rule needs two operators, the first one's approval is stored,
 * and the batch goes on waiting. While it counts, the audit log has it once, however often this operator approves.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_PROJECT_MOVING, ERR_BATCH_NOT_WAITING, ERR_OWN_BATCH
 * @throws ApiError ERR_INVALID_REQUEST for a signature that is not one of the operator over this decision, is expired or
 * was used
 * @throws ApiError ERR_VAULT_UNDERFUNDED, ERR_BATCH_WOULD_FAIL, ERR_OPERATOR_UNFUNDED, after which the batch still waits
 * @throws ApiError ERR_SIGNED_TX_INVALID, after which the wallet must sign again
 */
export async function approveBatch(
  deps: Deps,
  operator: Address,
  batchId: string,
  signature: DecisionSignature,
): Promise<ApprovedBatch> {
  const { batch, project } = await requireAnyBatch(deps.db, batchId);
  if (await isWaiting(deps, batch)) {
    // The two approvals must come from two people. `findIssueOfDecision` refuses a recorded decision in the same way.
    if (project.wallet === operator) throw new ApiError('ERR_OWN_BATCH', { batchId });
    const signed = await requireSigned(deps, project, batch, { operator, reason: null, signature });
    // A node that has not reached the second one may show an earlier value of the nonce, or none.
    const [landedSlot, nonceSlot] = [
      await findLandedSlot(deps.db, batch.flywheelId),
      await findNonceSlot(deps.db, batchId),
    ];
    const seenSlot = landedSlot > nonceSlot ? landedSlot : nonceSlot;
    const issue = await deps.chain.decide(seenSlot, (chain) => checkAgain({ ...deps, chain }, project, batch));
    if (issue !== null) {
      // Recorded on the batch because the project, which can resolve the issue, reads it there.
      const keepRequest = issue.code !== 'ERR_SIGNED_TX_INVALID';
      const { signedTx: judged } = batch;
      await recordExecutionIssue(deps.db, batchId, issue, { keepRequest, judged }, deps.clock.now());
      throw toApiError(issue);
    }
    const approvals = await recordApproval(deps, project, batch, signed);
    if (approvals !== null) return { batch, approvals };
  }
  const { batch: decided } = await requireAnyBatch(deps.db, batchId);
  const decision = await findCompanyDecision(deps.db, batchId);
  if (decision.decidedAt === null || decision.reason !== null) throw notWaiting(decided, decision);
  return { batch: decided, approvals: null };
}

/**
 * Rejects a batch for the company: it ends FAILED with the reason and releases its limits; the worker rejects its proposal
 * on chain and closes its accounts. A batch of which a bundle was sent, before the company was asked again, ends after that
 * bundle, with the result that the chain shows then; so does one that the chain shows as approved, as after a restore from a
 * backup. Repeating the rejection returns the same and keeps the first reason.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_PROJECT_MOVING, ERR_BATCH_NOT_WAITING; ERR_INVALID_REQUEST as `approveBatch`
 */
export async function rejectBatch(
  deps: Deps,
  operator: Address,
  batchId: string,
  { reason, ...signature }: DecisionSignature & { readonly reason: string },
): Promise<BatchWithoutPipelines> {
  const { batch: waiting, project } = await requireAnyBatch(deps.db, batchId);
  if (await isWaiting(deps, waiting)) {
    const signed = await requireSigned(deps, project, waiting, { operator, reason, signature });
    await recordRejection(deps, project, waiting, signed, reason);
  }
  const { batch } = await requireAnyBatch(deps.db, batchId);
  const decision = await findCompanyDecision(deps.db, batchId);
  if (decision.decidedAt === null || decision.reason === null) throw notWaiting(batch, decision);
  return batch;
}

async function isWaiting({ db }: Deps, { id, endedAt }: Batch): Promise<boolean> {
  const { askedAt, decidedAt } = await findCompanyDecision(db, id);
  return endedAt === null && askedAt !== null && decidedAt === null;
}

interface Undecided {
  readonly operator: Address;
  readonly reason: string | null;
  readonly signature: DecisionSignature;
}

/** Refuses early what the worker, which verifies independently, would refuse. */
async function requireSigned(
  deps: Deps,
  project: Project,
  batch: Batch,
  { operator, reason, signature: given }: Undecided,
): Promise<SignedCompanyDecision> {
  const signed = { operator, reason, ...readSignature(given) };
  const content = await compileAgain(project, batch).catch(throwDamaged);
  const issue = await findIssueOfBatchDecision(deps, project, { batchIndex: batch.batchIndex, content }, signed);
  if (issue !== null) throw invalidSignature(`is not accepted: ${issue}`);
  return signed;
}

/** Checks a batch in the chain's current state. The worker checks it once more before it signs. */
async function checkAgain(deps: Deps, project: Project, batch: Batch): Promise<ExecutionIssue | null> {
  const { multisig } = project.flywheel;
  // A batch that is still being set up has no accounts to compare. The worker compares them later.
  const progress = batch.status === 'FINALIZED' ? await readProgress(deps, multisig, batch) : null;
  // Executed on chain but not in a restored database: the execution job records the result.
  if (progress?.executed === batch.pipelines.length) return null;
  // If the wallet has voted on chain by itself, its signed approval is not needed.
  const hasVoted = progress?.approved.includes(multisig.wallet) ?? false;
  const problem = hasVoted ? null : await findProblemOfSignedTx(deps, project, batch);
  if (problem !== null) return { code: 'ERR_SIGNED_TX_INVALID', context: { problem } };
  if (progress !== null) {
    if (progress.status === 'Absent' || progress.status === 'Draft') {
      throw new NodeBehind(`The node shows the proposal of batch ${batch.id} as ${progress.status}.`);
    }
    if (progress.status !== 'Active' && progress.status !== 'Approved') {
      return wouldFail(`Its proposal is ${progress.status} on chain. Reject the batch.`);
    }
    const mismatch = await findMismatchedPipeline(deps, multisig, batch);
    if (mismatch === 'unseen') throw new NodeBehind(`The node does not show all pipelines of batch ${batch.id}.`);
    if (mismatch !== null) return wouldFail(`${describeMismatch(mismatch, batch)} Reject the batch.`);
  }
  const issue = toExecutionIssue((await checkBatch(deps, project, batch.pipelines)).issues);
  if (issue !== null || progress === null || hasVoted) return issue;
  return simulateApproval(deps, project, batch);
}

async function findProblemOfSignedTx(deps: Deps, { flywheel }: Project, batch: Batch): Promise<string | null> {
  const { multisig } = flywheel;
  const { id: batchId, batchIndex, nonce, signedTx } = batch;
  if (signedTx === null) throw new Error(`Batch ${batchId} waits for the company and has no signed approval.`);
  const problem = await findApprovalIssue(signedTx, { batchId, batchIndex, multisig, nonce });
  return problem ?? findNonceMismatch(deps, multisig, batch);
}

/** Simulates the approval without the company's and the operator's signatures, which this process cannot add. */
async function simulateApproval(
  { chain }: Deps,
  { flywheel: { multisig } }: Project,
  { signedTx }: Batch,
): Promise<ExecutionIssue | null> {
  if (signedTx === null) return null;
  const { err } = await chain.simulate(signedTx, { sigVerify: false, replaceRecentBlockhash: false });
  if (err === null) return null;
  throwIfUnrelated(err, multisig);
  return wouldFail(`The approval fails: ${err}.`);
}

function wouldFail(problem: string): ExecutionIssue {
  return { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: [problem] } };
}

/**
 * Records the decision. If two operators approve at once, one decides, and one job is enqueued.
 * @returns null if the batch is decided; otherwise the approvals that count.
 */
async function recordApproval(
  { db, jobs, clock, companyOperators }: Deps,
  project: Project,
  batch: Batch,
  signed: SignedCompanyDecision,
): Promise<ApprovedBatch['approvals']> {
  const now = clock.now();
  const { id: batchId, projectId } = batch;
  const entry = { at: now, actor: signed.operator, action: 'batch.approved', projectId, batchId } as const;
  return db.transaction().execute(async (trx) => {
    // Approvals of one batch follow each other, so that the second one sees the first.
    if (!(await lockWaiting(trx, batchId))) return null;
    const { required } = judge(await findBoundVersions(trx, project, batch), project, batch);
    const earlier = await findApprovers(trx, batchId, { operators: companyOperators, now });
    const approvals = { given: new Set(earlier).add(signed.operator).size, required };
    if (approvals.given < required) {
      const added = earlier.has(signed.operator) ? null : approvals;
      if (!(await insertPartialApproval(trx, batchId, signed, added, now))) throw usedSignature();
      const reason = `Approval ${approvals.given} of ${required}.`;
      if (added !== null) await insertAuditEntry(trx, { ...entry, reason });
      return approvals;
    }
    if (!(await decideOnce(trx, batchId, signed, now))) return null;
    await insertAuditEntry(trx, entry);
    await jobs.enqueue(trx, { type: 'execute', batchId, multisig: project.flywheel.multisig.address });
    return null;
  });
}

async function recordRejection(
  deps: Deps,
  project: Project,
  waiting: Batch,
  signed: SignedCompanyDecision,
  reason: string,
): Promise<void> {
  const { id: batchId, projectId } = waiting;
  const unapproved = await findUnapprovedOnChain(deps, project, [waiting]);
  const now = deps.clock.now();
  await deps.db.transaction().execute(async (trx) => {
    // The lock keeps an execution from beginning before the end is committed.
    const isUnbegun = await lockUnbegun(trx, batchId);
    if (!(await decideOnce(trx, batchId, signed, now))) return;
    const { batch } = await requireAnyBatch(trx, batchId);
    if (isUnbegun && unapproved.has(batchId)) {
      const failure = { failedTxMsg: describeRejection(reason) };
      await recordEnd(deps, trx, project, batch, {
        transition: 'ENDED_UNEXECUTED',
        cause: 'rejected',
        executed: 0,
        failure,
      });
    } else {
      await deps.jobs.enqueue(trx, { type: 'cancel', batchId, multisig: project.flywheel.multisig.address });
    }
    const { operator: actor } = signed;
    await insertAuditEntry(trx, { at: now, actor, action: 'batch.rejected', projectId, batchId, reason });
  });
}

/** @throws ApiError ERR_INVALID_REQUEST if the decision was used before. */
async function decideOnce(trx: Db, batchId: string, signed: SignedCompanyDecision, now: Date): Promise<boolean> {
  const decided = await decideForCompany(trx, batchId, signed, now);
  if (decided === 'used') throw usedSignature();
  return decided;
}

function notWaiting(batch: BatchWithoutPipelines, decision: CompanyDecision): ApiError<'ERR_BATCH_NOT_WAITING'> {
  return new ApiError('ERR_BATCH_NOT_WAITING', { batchId: batch.id, reason: reasonNotWaiting(batch, decision) });
}

function reasonNotWaiting(
  { status, signedTx }: BatchWithoutPipelines,
  { decidedAt, operator, reason }: CompanyDecision,
): string {
  if (decidedAt !== null) {
    return reason === null
      ? `${operator} approved it at ${decidedAt.toISOString()}.`
      : `${operator} rejected it at ${decidedAt.toISOString()}: ${asSentence(reason)}`;
  }
  if (isFinalStatus(status)) return `it is ${status}.`;
  if (signedTx === null) return 'its wallet has not sent a signed approval, or the last one was released.';
  return 'its project’s batches are approved automatically.';
}
