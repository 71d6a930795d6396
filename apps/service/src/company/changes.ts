import {
  type AdmissionRequest,
  ApiError,
  type DecisionSignature,
  type PolicyRequest,
  type ResumeRequest,
  type TermsRequest,
} from '@flywheel/api';
import type { Address } from '@solana/kit';
import { findIssueOfDecision, invalidSignature, readSignature, usedSignature } from '../batches/decisions.ts';
import type { Deps } from '../batches/deps.ts';
import type { Project } from '../model/project.ts';
import { requireVisibleProject } from '../projects/access.ts';
import { parseTerms } from '../projects/settings.ts';
import { type Change, findReview, findSentAgain, insertChange } from '../store/company/changes.ts';
import { subjectOf } from './change-subject.ts';
import { parsePolicy } from './policies.ts';

/** `applied` by a worker; `stored` until one runs. */
export type ChangeState = 'applied' | 'stored';

/**
 * Changes what the company approves by itself for a project, as an operator has signed it. A worker verifies and applies it.
 * After a change to `manual`, nothing is signed without a person's approval, including executions requested before. After a
 * change to `automatic`, batches that wait for a person still wait.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_INVALID_REQUEST for amounts that the token does not have, a signature that is not
 * one of the operator over this change, is expired or was used, and terms that have changed meanwhile. A request that is sent again
 * as it was has the outcome of the first, until a later change or pause.
 */
export async function changeTerms(
  deps: Deps,
  operator: Address,
  projectId: string,
  { from, to, ...signature }: TermsRequest,
): Promise<ChangeState> {
  const project = await requireVisibleProject(deps, operator, projectId);
  const terms = { from: parseTerms('from', from, project.token), to: parseTerms('to', to, project.token) };
  const change = { type: 'terms', projectId, ...terms } as const;
  return requestChange(deps, operator, { project, change, signature });
}

/**
 * Resumes a project, or all projects for null, as an operator has signed it. A worker verifies it, ends the pause, and continues
 * the jobs that were held. A project with a pause of its own stays paused when all are resumed.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_INVALID_REQUEST as `changeTerms`, and for another pause than the one in force.
 */
export async function resume(
  deps: Deps,
  operator: Address,
  projectId: string | null,
  { pausedAt: since, ...signature }: ResumeRequest,
): Promise<ChangeState> {
  const project = projectId === null ? null : await requireVisibleProject(deps, operator, projectId);
  const change = { type: 'resume', projectId, pausedAt: new Date(since) } as const;
  return requestChange(deps, operator, { project, change, signature });
}

/**
 * Admits a project, or withdraws its admission, as an operator has signed it. A worker verifies and applies it. Batches that
 * are set up stay, and can be executed or cancelled.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_INVALID_REQUEST as `changeTerms`, and if nothing would change.
 */
export async function changeAdmission(
  deps: Deps,
  operator: Address,
  projectId: string,
  { terms: asked, ...signature }: AdmissionRequest,
): Promise<ChangeState> {
  const project = await requireVisibleProject(deps, operator, projectId);
  const terms = asked && parseTerms('terms', asked, project.token);
  return requestChange(deps, operator, { project, change: { type: 'admission', projectId, terms }, signature });
}

/**
 * Sets the company's rules for a project, as an operator has signed them. A worker verifies and applies them.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_INVALID_REQUEST as `changeTerms` and `parsePolicy`, for a version that is not
 * the next one, and for a rule about two operators in a company of which only one may approve.
 */
export async function changePolicy(
  deps: Deps,
  operator: Address,
  projectId: string,
  { version, policy: asked, ...signature }: PolicyRequest,
): Promise<ChangeState> {
  const project = await requireVisibleProject(deps, operator, projectId);
  const policy = parsePolicy(asked, project.token);
  // The one who has the project's wallet approves none of its batches.
  const others = [...deps.companyOperators].filter((each) => each !== project.wallet).length;
  if (policy.twoOperatorsPerBatch !== null && others < 2) {
    const has = others === deps.companyOperators.size ? 'one' : `${others} besides the wallet of the project`;
    const problem = `needs two operators, and COMPANY_OPERATORS has ${has}: no batch above it could be approved.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.policy.twoOperatorsPerBatch', problem });
  }
  return requestChange(deps, operator, { project, change: { type: 'policy', projectId, version, policy }, signature });
}

interface RequestedChange {
  /** Null for all projects. */
  readonly project: Project | null;
  readonly change: Change;
  readonly signature: DecisionSignature;
}

/** A worker reviews a change at once; without one the caller should not wait for long. */
const REVIEW_WAIT_MS = 10_000;
const POLL_INTERVAL_MS = 50;

async function requestChange(
  deps: Deps,
  operator: Address,
  { project, change, signature }: RequestedChange,
): Promise<ChangeState> {
  const { db, jobs, clock } = deps;
  const signed = { operator, ...readSignature(signature) };
  // Refuses early what a worker, which verifies independently, would refuse.
  const invalid = await findIssueOfDecision(deps, subjectOf(change, project), signed);
  if (invalid !== null) throw invalidSignature(`is not accepted: ${invalid}`);
  const changeId = await db.transaction().execute(async (trx) => {
    const sent = { ...signed, change };
    const id = (await insertChange(trx, sent, clock.now())) ?? (await findSentAgain(trx, sent));
    if (id === null) throw usedSignature();
    await jobs.enqueue(trx, { type: 'review-changes' });
    return id;
  });
  const deadline = clock.now().getTime() + REVIEW_WAIT_MS;
  for (;;) {
    const review = await findReview(db, changeId);
    if (review?.issue === null) return 'applied';
    if (review !== null) throw invalidSignature(`is not accepted: ${review.issue}`);
    if (clock.now().getTime() >= deadline) return 'stored';
    await clock.sleep(POLL_INTERVAL_MS);
  }
}
