import { ApiError, type DecisionSignature } from '@flywheel/api';
import {
  type BatchContent,
  type DecisionSubject,
  findDecisionIssue,
  findDecisionSizeIssue,
  writeDecisionText,
} from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import { type Clock, DAY_MS } from '../model/clock.ts';
import type { Multisig, Project } from '../model/project.ts';
import {
  findRecordedRejection,
  insertRejection,
  type SignedCompanyDecision,
} from '../store/batches/company-approvals.ts';
import { fencedTransaction, type PresentKeys, type RunDeps } from './deps.ts';

/** The sources that verify a decision: the process's own settings and its own node, and no claim of another process. */
export interface DecisionDeps {
  readonly chain: { genesisHash(): Promise<string> };
  readonly clock: Clock;
  readonly companyOperators: ReadonlySet<Address>;
}

/** A decision that is valid for longer is refused: the operator may leave the company. */
const MAX_DECISION_MS = 30 * DAY_MS;

/**
 * Verifies that an operator of the company signed a decision about this subject.
 * @param wallet the project's wallet, which may not decide for the company too; null if that does not matter.
 * @returns null if it is valid, otherwise the reason, a sentence.
 */
export async function findIssueOfDecision(
  deps: DecisionDeps,
  { subject, wallet }: { readonly subject: DecisionSubject; readonly wallet: Address | null },
  signed: Omit<SignedCompanyDecision, 'reason'>,
): Promise<string | null> {
  const { operator, expiresAt } = signed;
  // The two approvals must come from two people. `approveBatch` refuses this with an error of its own before it records one.
  if (operator === wallet) return `${operator} is the wallet that the project approves with.`;
  const leftMs = expiresAt.getTime() - deps.clock.now().getTime();
  if (leftMs <= 0) return `The decision expired at ${expiresAt.toISOString()}. Decide again.`;
  if (leftMs > MAX_DECISION_MS)
    return `The decision expires at ${expiresAt.toISOString()}; at most 30 days are accepted.`;
  return findIssueOfSignature(deps, subject, signed);
}

async function findIssueOfSignature(
  { chain, companyOperators }: DecisionDeps,
  subject: DecisionSubject,
  { operator, nonce, expiresAt, ...signed }: Omit<SignedCompanyDecision, 'reason'>,
): Promise<string | null> {
  if (!companyOperators.has(operator)) return `${operator} is not in COMPANY_OPERATORS.`;
  const genesisHash = await chain.genesisHash();
  const text = writeDecisionText({ subject, genesisHash, operator, nonce, expiresAt });
  return findDecisionSizeIssue(text) ?? findDecisionIssue(text, operator, signed);
}

/**
 * Verifies a decision about a batch.
 * @returns null if it is valid, otherwise the reason, a sentence.
 */
export async function findIssueOfBatchDecision(
  deps: DecisionDeps,
  { flywheel: { multisig } }: Pick<Project, 'flywheel'>,
  batch: DecidedBatch,
  { reason, ...signed }: SignedCompanyDecision,
): Promise<string | null> {
  const subject = subjectOf(multisig, batch, reason);
  return findIssueOfDecision(deps, { subject, wallet: reason === null ? multisig.wallet : null }, signed);
}

/** A batch with what it does, from `compileAgain`. */
export interface DecidedBatch extends Pick<Batch, 'batchIndex'> {
  readonly content: BatchContent;
}

function subjectOf({ address }: Pick<Multisig, 'address'>, batch: DecidedBatch, reason: string | null) {
  const { batchIndex, content } = batch;
  const decision = reason === null ? 'approve' : 'reject';
  return { type: 'batch', decision, reason, multisig: address, batchIndex, content } as const;
}

/**
 * Finds out whether an operator has rejected a batch. The first valid rejection that a worker reads is recorded, and rejects
 * the batch for good: no row of another process and no later approval changes that. It counts after its expiry too,
 * because it only stops.
 * @returns its reason; null if there is none.
 */
export async function findRejection(
  deps: RunDeps,
  { flywheel: { multisig } }: Pick<Project, 'flywheel'>,
  batch: DecidedBatch,
  decisions: readonly SignedCompanyDecision[],
): Promise<string | null> {
  const located = { multisig: multisig.address, batchIndex: batch.batchIndex };
  const recorded = await findRecordedRejection(deps.db, located);
  if (recorded !== null) return recorded;
  for (const { reason, ...signed } of decisions) {
    if (reason === null || (await findIssueOfSignature(deps, subjectOf(multisig, batch, reason), signed))) continue;
    await fencedTransaction(deps, (trx) => insertRejection(trx, located, reason));
    return reason;
  }
  return null;
}

/**
 * Checks that a rotation of the company's key or of the operator's puts this worker's own present key in its place.
 * @param company the key with which this worker votes for the project.
 * @returns null if it does, or if the content rotates neither; otherwise the reason, a sentence.
 */
export function findForeignKey(
  content: BatchContent,
  { company, presentKeys }: { readonly company: { readonly address: Address }; readonly presentKeys: PresentKeys },
): string | null {
  if (!('replacement' in content)) return null;
  const { role, from, to } = content.replacement;
  if (role === 'operator' && to !== presentKeys.operator) return `${to} is not the operator of this worker.`;
  const isCompany = role === 'approver' && from === company.address;
  return isCompany && to !== presentKeys.company ? `${to} is not the company approver of this worker.` : null;
}

/** Reads what an operator's wallet signed from a request. */
export function readSignature({ nonce, expiresAt, signedMessage, signature }: DecisionSignature) {
  return {
    nonce,
    expiresAt: new Date(expiresAt),
    signedMessage: Buffer.from(signedMessage, 'base64'),
    signature: Buffer.from(signature, 'base64'),
  };
}

/** Builds the error for a signature that does not count. */
export function invalidSignature(problem: string): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: 'body.signature', problem });
}

export function usedSignature(): ApiError {
  return invalidSignature('was used before. Sign the decision again, with another nonce.');
}
