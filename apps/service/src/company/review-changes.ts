import { isDeepStrictEqual } from 'node:util';
import { describePolicyChange, messageOf, NO_POLICY } from '@flywheel/protocol';
import { findVoterMismatch } from '../batches/check/multisig.ts';
import { findIssueOfDecision } from '../batches/decisions.ts';
import type { Deps } from '../batches/deps.ts';
import { countEarlierBatches } from '../batches/policy/count-earlier.ts';
import { utcDay } from '../model/clock.ts';
import { presentTerms } from '../projects/settings.ts';
import { isNodeUnavailable, NodeBehind } from '../solana/node-unavailable.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { lockFlywheel } from '../store/batches/new-batches.ts';
import { lockUnfinishedBatches } from '../store/batches/past-batches.ts';
import {
  type AdmissionChange,
  type Change,
  type DamagedChange,
  deleteAdmission,
  findLastExpiry,
  findUnreviewedChanges,
  insertAdmission,
  insertReview,
  isAdmitted,
  type PolicyChange,
  type Resumption,
  type TermsChange,
  type UnreviewedChange,
} from '../store/company/changes.ts';
import {
  endRecordedPause,
  findHeldJobs,
  lockRecordedPause,
  type NewPause,
  recordPauses,
  setPauseForAll,
  setProjectPause,
} from '../store/company/pauses.ts';
import { findPolicyVersions, insertPolicy } from '../store/company/policies.ts';
import { countEarlierTokenAccounts } from '../store/company/policy-uses.ts';
import { keepsRecordedTerms, lockTerms, recordFirstTerms, updateTerms } from '../store/company/terms.ts';
import { isDatabaseError } from '../store/database-unavailable.ts';
import type { Db } from '../store/db.ts';
import { requireProject, updateApprovalMode } from '../store/projects/projects.ts';
import { subjectOf } from './change-subject.ts';

/**
 * Job `review-changes`: records the pauses in force and the terms of new projects, then applies the changes that operators
 * have signed, in order. It verifies each against this worker's own settings and node, and refuses the others with a reason.
 * @throws NodeBehind after the last one, if the node does not show yet what one of them is about: the job runs again.
 */
export async function reviewChanges(deps: Deps): Promise<void> {
  await recordPauses(deps.db);
  await recordFirstTerms(deps.db);
  let behind: NodeBehind | null = null;
  for (const change of await findUnreviewedChanges(deps.db)) {
    const issue = await reviewChange(deps, change).catch(orBehind);
    if (issue instanceof NodeBehind) {
      behind = issue;
      continue;
    }
    const { id, operator } = change;
    const what = 'damage' in change ? { type: null, projectId: change.projectId } : change.change;
    const fields = { changeId: String(id), type: what.type, operator, projectId: what.projectId };
    if (issue === null) deps.log.info(fields, 'a change by the company is applied');
    else deps.log.error({ ...fields, issue }, 'a change by the company is refused');
  }
  if (behind !== null) throw behind;
}

/** Lets the changes behind this one go on: what a node does not show may never be there. */
function orBehind(error: unknown): NodeBehind {
  if (error instanceof NodeBehind) return error;
  throw error;
}

/** Applies a change, or refuses it. Returns the reason of the refusal, a sentence; null if the change is applied. */
async function reviewChange(deps: Deps, change: UnreviewedChange | DamagedChange): Promise<string | null> {
  const applied =
    'damage' in change
      ? Promise.resolve(change.damage.message)
      : applyChange(deps, change.change, change).catch(toRefusal);
  const issue = await applied;
  if ('damage' in change) deps.metrics.refusedToSign.inc({ reason: 'change' });
  if (issue !== null) await insertReview(deps.db, change.id, { issue }, deps.clock.now());
  return issue;
}

/** Refuses a change that cannot be applied: it must not hold up those after it. The database and the node may answer later. */
function toRefusal(error: unknown): string {
  if (isDatabaseError(error) || isNodeUnavailable(error)) throw error;
  return `It cannot be applied: ${messageOf(error)}`;
}

async function applyChange(deps: Deps, change: Change, signed: UnreviewedChange): Promise<string | null> {
  switch (change.type) {
    case 'terms':
      return reviewTerms(deps, change, signed);
    case 'resume':
      return reviewResumption(deps, change, signed);
    case 'admission':
      return reviewAdmission(deps, change, signed);
    case 'policy':
      return reviewPolicy(deps, change, signed);
    default:
      throw new Error(`No worker reviews a change of type ${change satisfies never}.`);
  }
}

/** Verifies a change like `findIssueOfDecision`, and counts one that no operator has signed: `serve` stores no such change. */
async function findIssueOfSigned(
  deps: Deps,
  subject: Parameters<typeof findIssueOfDecision>[1],
  signed: UnreviewedChange,
): Promise<string | null> {
  const issue = await findIssueOfDecision(deps, subject, signed);
  if (issue !== null && signed.expiresAt > deps.clock.now()) deps.metrics.refusedToSign.inc({ reason: 'change' });
  return issue;
}

const OUTRUN = 'A decision that expires later was applied before it. Sign it again.';

/**
 * Returns true if a later decision about the project was applied: a person who withheld an earlier one could undo the later
 * decision with it.
 */
async function isOutrun(
  trx: Db,
  projectId: string,
  { expiresAt }: Pick<UnreviewedChange, 'expiresAt'>,
): Promise<boolean> {
  const last = await findLastExpiry(trx, projectId);
  return last !== null && expiresAt < last;
}

const USED = 'Its nonce was used before, or another worker has reviewed it.';

async function reviewTerms(deps: Deps, change: TermsChange, signed: UnreviewedChange): Promise<string | null> {
  const { db, clock } = deps;
  const { projectId, from, to } = change;
  const { id, operator, nonce } = signed;
  const project = await requireProject(db, projectId);
  const { token, flywheel } = project;
  const multisig = flywheel.multisig.address;
  const invalid = await findIssueOfSigned(deps, subjectOf(change, project), signed);
  if (invalid !== null) return invalid;
  return db.transaction().execute(async (trx) => {
    const { mint, ...current } = await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
    if (await isOutrun(trx, projectId, signed)) return OUTRUN;
    if (mint !== token.mint) return `The limits count another token, ${mint}.`;
    if (!isDeepStrictEqual(current, from)) return 'The terms have changed meanwhile. Sign the change again.';
    const now = clock.now();
    if (!(await insertReview(trx, id, { nonce }, now))) return USED;
    await updateTerms(trx, multisig, to);
    await updateApprovalMode(trx, projectId, to.approvalMode);
    const [before, after] = [from, to].map((terms) => presentTerms(terms, token));
    await insertAuditEntry(trx, { at: now, actor: operator, action: 'terms.changed', projectId, before, after });
    return null;
  });
}

async function reviewResumption(deps: Deps, change: Resumption, signed: UnreviewedChange): Promise<string | null> {
  const { db, clock, jobs } = deps;
  const { projectId, pausedAt } = change;
  const { id, operator, nonce } = signed;
  const project = projectId === null ? null : await requireProject(db, projectId);
  const multisig = project?.flywheel.multisig.address ?? null;
  const invalid = await findIssueOfSigned(deps, subjectOf(change, project), signed);
  if (invalid !== null) return invalid;
  return db.transaction().execute(async (trx) => {
    const recorded = await lockRecordedPause(trx, multisig);
    if (recorded?.getTime() !== pausedAt.getTime()) return `No pause began at ${pausedAt.toISOString()}.`;
    const now = clock.now();
    if (!(await insertReview(trx, id, { nonce }, now))) return USED;
    await endRecordedPause(trx, multisig);
    const setPause = (pause: NewPause | null) =>
      projectId === null ? setPauseForAll(trx, pause) : setProjectPause(trx, projectId, pause);
    // Waits for workers that have read the record, so that the jobs which they end are enqueued again below.
    const before = await setPause(null);
    // One that has begun since the record goes on.
    if (before && before.since > pausedAt) await setPause(before);
    await insertAuditEntry(trx, {
      at: now,
      actor: operator,
      action: projectId === null ? 'company.resumed' : 'project.resumed',
      ...(projectId !== null && { projectId }),
      before: { since: pausedAt.toISOString(), ...(before && { reason: before.reason }) },
    });
    for (const job of await findHeldJobs(trx, projectId)) await jobs.enqueue(trx, job);
    return null;
  });
}

async function reviewPolicy(deps: Deps, change: PolicyChange, signed: UnreviewedChange): Promise<string | null> {
  const { db, clock } = deps;
  const { projectId, version, policy } = change;
  const { id, operator, nonce } = signed;
  const project = await requireProject(db, projectId);
  const { token, flywheel } = project;
  const multisig = flywheel.multisig.address;
  const invalid = await findIssueOfSigned(deps, subjectOf(change, project), signed);
  if (invalid !== null) return invalid;
  const day = utcDay(clock.now());
  // Most of the day is counted before the lock that the project's requests wait for.
  const counted = await countEarlierBatches(db, project, policy, { day, after: 0n });
  return db.transaction().execute(async (trx) => {
    // Init and workers hold these two locks in this order, so a batch is counted here or judged by the new version.
    await lockFlywheel(trx, flywheel.id);
    await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
    const [present] = await findPolicyVersions(trx, multisig, 1);
    const next = (present?.version ?? 0) + 1;
    if (version !== next)
      return `The rules have changed meanwhile: the next version is ${next}. Sign the change again.`;
    const appliedAt = clock.now();
    if (!(await insertReview(trx, id, { nonce }, appliedAt))) return USED;
    await lockUnfinishedBatches(trx, projectId);
    await countEarlierBatches(trx, project, policy, { day, after: counted });
    if (policy.newTokenAccounts !== null) await countEarlierTokenAccounts(trx, { projectId, day });
    await insertPolicy(trx, multisig, { version, mint: token.mint, policy, operator, appliedAt });
    const changes = describePolicyChange(present?.policy ?? NO_POLICY, policy, token);
    const after = { version, changes };
    await insertAuditEntry(trx, { at: appliedAt, actor: operator, action: 'policy.changed', projectId, after });
    return null;
  });
}

async function reviewAdmission(deps: Deps, change: AdmissionChange, signed: UnreviewedChange): Promise<string | null> {
  const { db, clock } = deps;
  const { projectId, terms } = change;
  const { id, operator, nonce } = signed;
  const project = await requireProject(db, projectId);
  const { token, flywheel } = project;
  const multisig = flywheel.multisig.address;
  const invalid = await findIssueOfSigned(deps, subjectOf(change, project), signed);
  if (invalid !== null) return invalid;
  // The operator was shown the row's wallet. An admission can end whatever the chain has.
  const foreign = terms === null ? null : await findVoterMismatch(deps, flywheel.multisig);
  if (foreign !== null) return foreign;
  return db.transaction().execute(async (trx) => {
    const { mint } = await lockTerms(trx, project, { isKept: keepsRecordedTerms(deps) });
    if (terms !== null && mint !== token.mint) return `The limits count another token, ${mint}.`;
    if (await isOutrun(trx, projectId, signed)) return OUTRUN;
    const isAdmission = terms !== null;
    if ((await isAdmitted(trx, multisig)) === isAdmission) {
      return isAdmission ? 'The project is admitted already.' : 'The project is not admitted.';
    }
    const now = clock.now();
    if (!(await insertReview(trx, id, { nonce }, now))) return USED;
    const entry = { at: now, actor: operator, projectId };
    if (!isAdmission) {
      await deleteAdmission(trx, multisig);
      await insertAuditEntry(trx, { ...entry, action: 'project.admission-withdrawn' });
      return null;
    }
    await insertAdmission(trx, multisig, now);
    await updateTerms(trx, multisig, terms);
    await updateApprovalMode(trx, projectId, terms.approvalMode);
    await insertAuditEntry(trx, { ...entry, action: 'project.admitted', after: presentTerms(terms, token) });
    return null;
  });
}
