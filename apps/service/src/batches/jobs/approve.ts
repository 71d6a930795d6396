import type { ErrorContext } from '@flywheel/api';
import { planTransactions, VOTE_WEIGHT } from '@flywheel/squads';
import type { Batch, ExecutionIssue } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import { addSignatures, type SignedTransaction, signTransaction } from '../../solana/transactions.ts';
import { companyOnlyApproval } from '../../squads/approval.ts';
import { findApprovalIssue } from '../../squads/approval-check.ts';
import {
  askCompany,
  askCompanyAgain,
  findCompanyDecision,
  findSignedDecisions,
  type SignedCompanyDecision,
} from '../../store/batches/company-approvals.ts';
import { planTokenAccounts } from '../../store/batches/created-token-accounts.ts';
import { hasExecutionBegun } from '../../store/batches/executions.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { recordCheckedTokenAccounts } from '../../store/company/policy-uses.ts';
import { DamagedRecord } from '../../store/damaged-record.ts';
import { operatorLimits } from '../bundles/assemble-bundle.ts';
import { settleBundles } from '../bundles/land.ts';
import { type BatchCheck, checkBatch, toExecutionIssue } from '../check/check-batch.ts';
import { describeMismatch, findMismatchedPipeline, findNonceMismatch } from '../check/mismatches.ts';
import { throwIfUnrelated } from '../check/simulate.ts';
import { findContent } from '../compile-again.ts';
import { type DecidedBatch, findForeignKey, findIssueOfBatchDecision, findRejection } from '../decisions.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { type Delay, findBoundVersions, findDelay, type Judgement, judge } from '../policy/at-signing.ts';
import { holdRecipients } from '../recipients.ts';
import { countSigned, countWithinTerms } from '../terms.ts';
import { end, endOpen } from './end.ts';
import { awaitFinality } from './finality.ts';
import { type Progress, readProgress } from './progress.ts';

export interface Approval {
  readonly kind: 'signed';
  readonly transaction: SignedTransaction;
  /** Compute units of each pipeline's own instructions, by position, as the check measured them. */
  readonly computeUnits: BatchCheck['computeUnits'];
}

/** The issue because of which a batch was not approved. Nothing was sent. */
export interface Unapproved {
  readonly kind: 'unapproved';
  readonly issue: ExecutionIssue;
}

/** Outcome of the checks of an approval. */
type ApprovalOutcome =
  | Approval
  | Unapproved
  /** A rule of the company makes it wait. */
  | Extract<Delay, { kind: 'delayed' }>
  /** It can never be approved, which has ended it. */
  | { readonly kind: 'ended' }
  /** A check failed only because an earlier bundle has landed meanwhile. */
  | { readonly kind: 'overtaken' }
  /** A person must approve it first. */
  | { readonly kind: 'awaits company' }
  /** The node does not show all of it yet. */
  | { readonly kind: 'unseen' };
type Ended = Extract<ApprovalOutcome, { kind: 'ended' }>;
type Overtaken = Extract<ApprovalOutcome, { kind: 'overtaken' }>;
type Unseen = Extract<ApprovalOutcome, { kind: 'unseen' }>;
type AwaitsCompany = Extract<ApprovalOutcome, { kind: 'awaits company' }>;

/**
 * Checks a batch and adds the company's and the operator's signatures to its approval. The checks: the bytes on chain are
 * the compiled ones, every pipeline would succeed, and the approval succeeds in simulation. Nothing is sent.
 * @throws ApiError ERR_OPERATOR_UNFUNDED
 */
export async function approve(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { status, approved }: Pick<Progress, 'status' | 'approved'>,
): Promise<ApprovalOutcome> {
  const { multisig } = project.flywheel;
  if (status !== 'Active') throw new Error(`The proposal of batch ${batch.id} is ${status}, not Active.`);
  const mismatch = await findMismatchedPipeline(deps, multisig, batch);
  if (mismatch === 'unseen') return { kind: 'unseen' };
  if (mismatch !== null) {
    // An end is final, so only finalized bytes decide it.
    if ((await findMismatchedPipeline(deps, multisig, batch, 'finalized')) !== mismatch) return { kind: 'unseen' };
    deps.metrics.refusedToSign.inc({ reason: 'mismatched' });
    return endMismatched(deps, project, batch, describeMismatch(mismatch, batch));
  }
  const content = await findContent(project, batch);
  if (content instanceof DamagedRecord) {
    deps.log.error({ batchId: batch.id, err: content }, 'the company does not sign what a request does not compile to');
    deps.metrics.refusedToSign.inc({ reason: 'uncompiled' });
    return endMismatched(deps, project, batch, `${content.message} ${UNCOMPILED}`);
  }
  const decisions = await findSignedDecisions(deps.db, batch.id);
  const decided = { batchIndex: batch.batchIndex, content };
  const rejection = await findRejection(deps, project, decided, decisions);
  if (rejection !== null) return endRejected(deps, project, batch, rejection);
  const judgement = judge(await findBoundVersions(deps.db, project, batch), project, batch);
  if (judgement.refusal !== null) return endMismatched(deps, project, batch, `${judgement.refusal} ${REFUSED}`);
  const { issues, funds, computeUnits } = await checkBatch(deps, project, batch.pipelines);
  const issue = toExecutionIssue(issues);
  if (issue !== null) {
    const unapproved = await unlessOvertaken(deps, project, batch, issue);
    if (unapproved.kind === 'unapproved') await holdRecipients(deps, batch, issues);
    return unapproved;
  }
  const toCreate = funds.missingTokenAccounts.map(({ address }) => address);
  const awaitsCompany = await fencedTransaction(deps, async (trx) => {
    await planTokenAccounts(trx, batch, toCreate);
    await requireUnpaused(trx, batch.flywheelId);
    const isAsked = await askCompany(trx, batch.id, deps.clock.now());
    // Sums are locked after the batch, as by its end.
    await recordCheckedTokenAccounts(trx, batch.id, toCreate);
    return isAsked;
  });
  // Asked here as well: the company's key must not sign what a person has yet to approve, whichever process enqueued it.
  if (awaitsCompany) return { kind: 'awaits company' };
  const decision = await findDecision(deps, project, batch, { ...decided, decisions, judgement });
  if (decision === 'none') return { kind: 'awaits company' };
  if (typeof decision === 'object') return endMismatched(deps, project, batch, `${decision.refusal} ${REFUSED}`);
  if (batch.kind === 'pipelines') {
    const isApproved = decision === 'by a person';
    const delay = await findDelay(deps, project, batch, { created: toCreate.length, isApproved });
    switch (delay?.kind) {
      case undefined:
        break;
      case 'delayed':
        return delay;
      case 'person':
        return askPerson(deps, batch, delay.reason);
      default:
        throw delay satisfies never;
    }
  }

  const approval = approved.includes(multisig.wallet)
    ? await signCompanyOnly(deps, project, batch)
    : await signApproval(deps, multisig, batch);
  if ('problem' in approval) {
    return unlessOvertaken(deps, project, batch, { code: 'ERR_SIGNED_TX_INVALID', context: approval });
  }
  const { err } = await deps.chain.simulate(approval.wire, { sigVerify: true, replaceRecentBlockhash: false });
  if (err === null) return { kind: 'signed', transaction: approval, computeUnits };
  throwIfUnrelated(err, multisig);
  const problem = await findNonceMismatch(deps, multisig, batch);
  return problem === null
    ? unlessOvertaken(deps, project, batch, {
        code: 'ERR_BATCH_WOULD_FAIL',
        context: { problems: [`The approval fails: ${err}.`] },
      })
    : unlessOvertaken(deps, project, batch, { code: 'ERR_SIGNED_TX_INVALID', context: { problem } });
}

/** Message of a batch whose rows no longer give the instructions that its approval signs. */
const UNCOMPILED =
  'Nothing was executed. Another release compiles this batch differently, or its database rows were changed. Send it as a new batch.';

const REFUSED = 'The company’s rules for this project have changed since. Send the batch again without this recipient.';

interface Decisions extends DecidedBatch {
  readonly decisions: readonly SignedCompanyDecision[];
  readonly judgement: Judgement;
}

/**
 * Checks whether a person of the company must still decide, before the company's key signs. The rows come from processes
 * that do not hold the key, so the worker's own rows say what needs no person, and a decision counts only if an operator's
 * wallet signed it; two decisions count only if two wallets did. A decision that does not count is asked for again.
 * @returns `none` if a person must still decide; the refusal if the rules have come to forbid the batch.
 */
async function findDecision(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { decisions, judgement, ...decided }: Decisions,
): Promise<'automatic' | 'by a person' | 'none' | { readonly refusal: string }> {
  const { askedAt, decidedAt } = await findCompanyDecision(deps.db, batch.id);
  const mayBeAutomatic = batch.kind === 'pipelines' && askedAt === null && judgement.reason === null;
  const reason = mayBeAutomatic ? await countWithinTerms(deps, project, batch) : 'A person was asked.';
  if (reason === null) return 'automatic';
  const approvals = decisions.filter((each) => each.reason === null);
  const foreign = findForeignKey(decided.content, deps);
  const found =
    foreign === null
      ? await findIssueOfApprovals(deps, project, decided, { approvals, required: judgement.required })
      : { issue: foreign, isForged: true };
  if (found === null) {
    const { required } = judgement;
    const latest = await countSigned(deps, project, batch, required);
    if (latest.refusal !== null) return { refusal: latest.refusal };
    if (latest.required <= required) return 'by a person';
    await askPerson(deps, batch, latest.reason ?? reason);
    return 'none';
  }
  if (decidedAt !== null) {
    const fields = { batchId: batch.id, operator: approvals[0]?.operator, issue: found.issue };
    deps.log.error(fields, 'the company does not sign without a decision');
    if (found.isForged) deps.metrics.refusedToSign.inc({ reason: 'undecided' });
  }
  await askPerson(deps, batch, judgement.reason ?? reason);
  return 'none';
}

async function askPerson(deps: RunDeps, batch: Batch, reason: string): Promise<AwaitsCompany> {
  deps.log.info({ batchId: batch.id, reason }, 'a person must approve the batch');
  await fencedTransaction(deps, (trx) => askCompanyAgain(trx, batch.id, deps.clock.now()));
  return { kind: 'awaits company' };
}

interface ApprovalIssue {
  readonly issue: string;
  /** True if no operator can have approved a batch that reads approved. An approval expires, and stricter rules require another. */
  readonly isForged: boolean;
}

/** Counts the operators who have approved a batch, each once. Returns null if they are enough, otherwise the reason. */
async function findIssueOfApprovals(
  deps: RunDeps,
  project: Project,
  batch: DecidedBatch,
  { approvals, required }: { readonly approvals: readonly SignedCompanyDecision[]; readonly required: number },
): Promise<ApprovalIssue | null> {
  const operators = new Set<string>();
  const issues: string[] = [];
  for (const signed of approvals) {
    const issue = await findIssueOfBatchDecision(deps, project, batch, signed);
    if (issue === null) operators.add(signed.operator);
    else issues.push(issue);
    if (operators.size === required) return null;
  }
  const [issue = 'No operator has approved it.'] = issues;
  if (operators.size > 0) return { issue: `Of ${required} operators, ${operators.size} approved it.`, isForged: false };
  const now = deps.clock.now();
  return { issue, isForged: approvals.length === 0 || approvals.some(({ expiresAt }) => expiresAt > now) };
}

/** Builds an approval for a wallet that has voted on chain already: voting twice would fail. */
async function signCompanyOnly(deps: RunDeps, { flywheel }: Project, batch: Batch): Promise<SignedTransaction> {
  const { multisig } = flywheel;
  const instructions = companyOnlyApproval(multisig, batch.batchIndex);
  const { computeUnitPriceMicroLamports } = await deps.bundles.terms(multisig.lookupTable.addresses);
  const limits = operatorLimits(multisig, 'setup', { version: 0, computeUnitPriceMicroLamports, isTipped: false });
  const [planned] = planTransactions([{ instructions, ...VOTE_WEIGHT }], limits);
  if (!planned) throw new Error('The company’s vote takes one transaction.');
  return signTransaction(planned.message, await deps.chain.latestBlockhash(), [deps.operator, deps.company]);
}

/** Checks the wallet's approval again before adding signatures: another process has written the row it comes from. */
async function signApproval(
  { company, operator }: RunDeps,
  multisig: Multisig,
  { id: batchId, batchIndex, nonce, signedTx }: Batch,
): Promise<SignedTransaction | ErrorContext<'ERR_SIGNED_TX_INVALID'>> {
  if (signedTx === null) throw new Error(`Batch ${batchId} has no signed approval.`);
  const problem = await findApprovalIssue(signedTx, { batchId, batchIndex, multisig, nonce });
  if (problem !== null) return { problem };
  return addSignatures(signedTx, [company, operator]);
}

async function unlessOvertaken(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  issue: ExecutionIssue,
): Promise<Unapproved | Overtaken> {
  return (await isOvertaken(deps, project, batch)) ? { kind: 'overtaken' } : { kind: 'unapproved', issue };
}

async function endMismatched(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  failedTxMsg: string,
): Promise<Ended | Overtaken | Unseen> {
  if (await isOvertaken(deps, project, batch)) return { kind: 'overtaken' };
  if (await hasExecutionBegun(deps.db, batch.id)) {
    // A transaction that a fork took away may land again until it expires.
    const final = await awaitFinality(deps, project.flywheel.multisig, batch);
    if (final === 'incomplete') return { kind: 'unseen' };
    if (final.status !== 'Active') return { kind: 'overtaken' };
  }
  await end(deps, project, batch, { transition: 'ENDED_UNEXECUTED', executed: 0, failure: { failedTxMsg } });
  return { kind: 'ended' };
}

/** Ends a batch that the company has rejected while a bundle of it was in flight, or that reads open again. */
async function endRejected(deps: RunDeps, project: Project, batch: Batch, rejection: string): Promise<Ended> {
  deps.log.warn({ batchId: batch.id, reason: rejection }, 'the company does not sign what it has rejected');
  await endOpen(deps, project, batch, { rejection });
  return { kind: 'ended' };
}

/**
 * Checks whether an earlier bundle has landed during the checks. It fails them, because its votes are cast and its nonce
 * is used.
 */
async function isOvertaken(deps: RunDeps, { flywheel }: Project, batch: Batch): Promise<boolean> {
  await settleBundles(deps, batch, 'execution');
  return (await readProgress(deps, flywheel.multisig, batch)).status !== 'Active';
}
