import { type Batch, type ExecutionIssue, heldUp } from '../../model/batch.ts';
import { utcDay } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { findVersionsSince, type PolicyVersion } from '../../store/company/policies.ts';
import type { BatchOnChain } from '../../store/company/totals.ts';
import { countTokenAccounts, readSignedUse, recordTokenAccounts, recordUses } from '../../store/company/uses.ts';
import type { Db } from '../../store/db.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { findMetRules, findWaits, findWithdrawalRule, type MetRule } from './evaluate.ts';
import { allUsesOf, readFacts, usesOf } from './facts.ts';

// The actions of the batch must have been compiled again, and the versions are rows that only workers write.

/**
 * Lists the versions of the company's rules that bind a batch: all that were in force since it was created, so that a looser
 * version frees only later batches. The present one always counts, whatever the row says about the batch's creation.
 */
export function findBoundVersions(
  db: Db,
  { flywheel }: Pick<Project, 'flywheel'>,
  { createdAt }: Pick<Batch, 'createdAt'>,
): Promise<PolicyVersion[]> {
  return findVersionsSince(db, flywheel.multisig.address, createdAt);
}

/** What the rules say before a person is asked. */
export interface Judgement {
  /** Sentence of a recipient that may not be paid; null if all may. */
  readonly refusal: string | null;
  /** Operators that must approve if a person must: two by a rule, otherwise one. */
  readonly required: 1 | 2;
  /** Why two must approve, a sentence; null if the rules let one suffice, or none. */
  readonly reason: string | null;
}

/** Judges a batch by the rules that need no sums. */
export function judge(
  versions: readonly PolicyVersion[],
  { token }: Pick<Project, 'token'>,
  { kind, pipelines }: Pick<Batch, 'kind' | 'pipelines'>,
): Judgement {
  const facts = readFacts(pipelines, token);
  const met = versions.flatMap(({ policy }) => {
    return kind === 'pipelines' ? findMetRules(policy, token, facts, NO_DAY) : findWithdrawalRule(policy, token, facts);
  });
  const two = met.find(({ effect }) => effect === 'twoOperators');
  const refused = met.find(({ effect }) => effect === 'refused');
  return { refusal: refused?.message ?? null, required: two ? 2 : 1, reason: two?.message ?? null };
}

const NO_DAY = { day: '', moved: 0n, uses: new Map<string, bigint>(), tokenAccounts: null };

/**
 * Finds the rule because of which a person must approve a batch of pipelines on the day of its setup. The caller must hold the
 * lock of the multisig's terms.
 * @returns sentences; null if there is none.
 */
export async function findPersonRule(
  trx: Db,
  project: Project,
  batch: Batch,
  { day, located }: { readonly day: string; readonly located: BatchOnChain },
): Promise<string | null> {
  const versions = await findBoundVersions(trx, project, batch);
  const [present] = versions;
  if (!present) return null;
  const { token } = project;
  const foreign = versions.find(({ mint }) => mint !== token.mint);
  if (foreign) return `The rules count the token ${foreign.mint}, and the project has ${token.mint}.`;
  const facts = readFacts(batch.pipelines, token);
  const policies = versions.map(({ policy }) => policy);
  const { movedBaseUnits, uses } = await readSignedUse(trx, located, day, usesOf(policies, facts));
  // New token accounts count for the day on which the company signs, which `findDelay` judges.
  const judged = { day, moved: movedBaseUnits, uses, tokenAccounts: null };
  const [met] = policies.flatMap((policy) => findMetRules(policy, token, facts, judged));
  return met?.message ?? null;
}

/**
 * Counts what a batch uses of its day, also without a cap: one that is set later on the day counts what was signed before it. The
 * caller must hold the lock of the multisig's terms.
 */
export async function countUses(
  trx: Db,
  { token }: Pick<Project, 'token'>,
  { pipelines }: Pick<Batch, 'pipelines'>,
  { day, located }: { readonly day: string; readonly located: BatchOnChain },
): Promise<void> {
  await recordUses(trx, located, day, allUsesOf(readFacts(pipelines, token)));
}

/** A reason to sign later, or to ask a person first. */
export type Delay =
  | { readonly kind: 'delayed'; readonly issue: ExecutionIssue; readonly until: Date }
  | { readonly kind: 'person'; readonly reason: string };

/**
 * Finds out if the company signs a batch of pipelines now, and counts its new token accounts for today if it does, also
 * without a rule.
 * @param created token accounts that the vault will pay for.
 * @param isApproved true if a person has approved it: then no number of token accounts needs one.
 * @returns null if it signs now.
 */
export async function findDelay(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { created, isApproved }: { readonly created: number; readonly isApproved: boolean },
): Promise<Delay | null> {
  const { token, flywheel } = project;
  const now = deps.clock.now();
  const day = utcDay(now);
  const located = { multisig: flywheel.multisig.address, batchIndex: batch.batchIndex };
  return fencedTransaction(deps, async (trx) => {
    const versions = await findBoundVersions(trx, project, batch);
    const counts = versions.some(({ policy }) => policy.newTokenAccounts !== null);
    const usedToday = counts ? await countTokenAccounts(trx, located, day) : 0;
    const moment = { now, tokenAccounts: counts && !isApproved ? { asked: created, usedToday } : null };
    const met = versions.flatMap(({ policy }) => findWaits(policy, token, moment));
    const person = met.find(({ effect }) => effect === 'person');
    if (person) return { kind: 'person', reason: person.message };
    const last = findLast(met);
    if (last !== null) return last;
    await recordTokenAccounts(trx, located, day, created);
    return null;
  });
}

function findLast(met: readonly MetRule[]): Extract<Delay, { kind: 'delayed' }> | null {
  const waits = met.flatMap(({ message, until }) => (until === null ? [] : [{ message, until }]));
  const [latest] = waits.toSorted((a, b) => b.until.getTime() - a.until.getTime());
  if (!latest) return null;
  const { message, until } = latest;
  return { kind: 'delayed', issue: heldUp(`${message} It continues at ${until.toISOString()}.`), until };
}
