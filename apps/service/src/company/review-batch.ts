import type { BatchReview } from '@flywheel/api';
import { pluralize, summarizeContent, toDecimal, writeTokens } from '@flywheel/protocol';
import { compileAgain } from '../batches/compile-again.ts';
import type { Deps } from '../batches/deps.ts';
import { findBoundVersions, judge } from '../batches/policy/at-signing.ts';
import { findMetRules, findWaits, findWithdrawalRule, presentMetRule } from '../batches/policy/evaluate.ts';
import { countAdded, readFacts, tokenAccountUses, usesOf } from '../batches/policy/facts.ts';
import { readUnreadTokenAccounts } from '../batches/policy/token-accounts.ts';
import { throwDamaged } from '../batches/read.ts';
import type { Batch } from '../model/batch.ts';
import { answerWithin, utcDay } from '../model/clock.ts';
import type { Project, Token } from '../model/project.ts';
import { readMint } from '../solana/mint.ts';
import { findWarnings } from '../store/batches/batches.ts';
import { findApprovers } from '../store/batches/company-approvals.ts';
import { findPrecedents } from '../store/batches/past-batches.ts';
import { findNewTokenAccounts, findPolicyUses } from '../store/company/policy-uses.ts';
import { findDailyAmounts } from '../store/projects/daily-limits.ts';
import { requireAnyBatch } from './require-batch.ts';

type ReviewDeps = Pick<Deps, 'db' | 'chain' | 'clock' | 'log' | 'companyOperators'>;

/**
 * Describes a batch for the operator who decides on it: what it does, the rules of the company that it meets now, and what is
 * unusual about it. A worker judges it again, by its own rows, before the company signs.
 * @throws ApiError ERR_BATCH_NOT_FOUND, ERR_PROJECT_MOVING
 */
export async function reviewBatch(deps: ReviewDeps, batchId: string): Promise<BatchReview> {
  const { db, clock, companyOperators } = deps;
  const { batch, project } = await requireAnyBatch(db, batchId);
  const { token } = project;
  const now = clock.now();
  const { effects, recipients, pipelines } = summarizeContent(await compileAgain(project, batch).catch(throwDamaged));
  const [versions, unusual, approvers, rules] = await Promise.all([
    findBoundVersions(db, project, batch),
    findUnusual(deps, project, batch),
    findApprovers(db, batchId, { operators: companyOperators, now }),
    findRules(deps, project, batch),
  ]);
  return {
    batchId,
    effects: [...effects],
    recipients,
    pipelines,
    moved: toDecimal(readFacts(batch.pipelines, token).moved, token.decimals),
    rules,
    approvals: { given: approvers.size, required: judge(versions, project, batch).required },
    unusual,
  };
}

/** Lists the rules that a batch meets now, each once: several versions may have the same one. */
async function findRules(deps: ReviewDeps, project: Project, batch: Batch): Promise<BatchReview['rules']> {
  const { db, clock } = deps;
  const { token } = project;
  const now = clock.now();
  const facts = readFacts(batch.pipelines, token);
  const policies = (await findBoundVersions(db, project, batch)).map(({ policy }) => policy);
  if (batch.kind !== 'pipelines') {
    return unique(policies.flatMap((policy) => findWithdrawalRule(policy, token, facts)).map(presentMetRule));
  }
  const day = utcDay(batch.createdAt);
  const counts = policies.some(({ newTokenAccounts }) => newTokenAccounts !== null);
  if (counts) await unlessSlow(deps, project.token, readUnreadTokenAccounts(deps, project, day));
  const created = counts ? await findNewTokenAccounts(db, batch.id) : [];
  const asked = [...usesOf(policies, facts), ...tokenAccountUses(created)];
  const [counted, amounts] = await Promise.all([
    findPolicyUses(db, { projectId: project.id, day }, asked, batch.id),
    findDailyAmounts(db, project.id, day),
  ]);
  // The day's amounts have counted this batch at its init.
  const moved = amounts.burnBaseUnits + amounts.airdropBaseUnits - facts.moved;
  const { uses } = counted;
  const others = { day, moved: moved > 0n ? moved : 0n, uses, tokenAccounts: countAdded(asked, counted) };
  const met = policies.flatMap((policy) => [
    ...findMetRules(policy, token, facts, others),
    ...findWaits(policy, token, { now, tokenAccounts: null }),
  ]);
  return unique(met.map(presentMetRule));
}

function unique(rules: BatchReview['rules']): BatchReview['rules'] {
  return [...new Map(rules.map((rule) => [rule.message, rule])).values()];
}

/** The screen shows everything else meanwhile. */
const CHAIN_TIMEOUT_MS = 2_000;

/** @returns null if the node does not answer in time. */
async function unlessSlow<T>({ clock, log }: ReviewDeps, { mint }: Token, answer: Promise<T>): Promise<T | null> {
  try {
    return await answerWithin(clock, CHAIN_TIMEOUT_MS, answer);
  } catch (error) {
    log.warn({ err: error, mint }, 'the chain cannot be read for a review');
    return null;
  }
}

async function findUnusual(deps: ReviewDeps, project: Project, batch: Batch): Promise<BatchReview['unusual']> {
  const { token } = project;
  const { moved, byRecipient } = readFacts(batch.pipelines, token);
  const [precedents, warnings, mint] = await Promise.all([
    findPrecedents(deps.db, { projectId: project.id, batchId: batch.id }),
    findWarnings(deps.db, batch.id),
    unlessSlow(deps, token, readMint(deps.chain, token.mint)),
  ]);
  const { paid, isWhole, largestBaseUnits } = precedents;
  const firstTime = [...byRecipient.keys()].filter((recipient) => !paid.has(recipient));
  const unusual: BatchReview['unusual'] = [];
  if (firstTime.length > 0) {
    const before = isWhole ? 'this project has never paid' : 'the last batches of this project did not pay';
    const of = `${firstTime.length} of ${pluralize(byRecipient.size, 'recipient')}`;
    unusual.push({
      kind: 'FIRST_TIME_RECIPIENTS',
      message: `It pays ${of} that ${before}: ${nameFew(firstTime)}.`,
    });
  }
  if (batch.kind === 'pipelines' && moved > (largestBaseUnits ?? 0n)) {
    const [amount, largest] = [moved, largestBaseUnits ?? 0n].map((each) => writeTokens(each, token));
    const message =
      largestBaseUnits === null
        ? 'It is the first batch of this project that would be executed.'
        : `It moves ${amount}, more than every batch before it: the largest moved ${largest}.`;
    unusual.push({ kind: 'LARGEST_BATCH', message });
  }
  if (batch.kind !== 'pipelines') {
    // Those of a withdrawal are about its recipient and the vault; no event is paid by one.
    for (const { message } of warnings) unusual.push({ kind: 'WARNING', message });
  } else if (warnings.length > 0) {
    const message = `${pluralize(warnings.length, 'pipeline repeats', 'pipelines repeat')} a type and payload of an earlier one, so the same event may be paid again.`;
    unusual.push({ kind: 'REPEATED_PAYLOADS', message });
  }
  if (mint !== null) {
    const messages = 'problem' in mint ? [`The mint ${mint.problem}`] : mint.warnings;
    for (const message of messages) unusual.push({ kind: 'RISKY_MINT', message });
  }
  return unusual;
}

const MAX_NAMED = 3;

function nameFew(addresses: readonly string[]): string {
  const more = addresses.length - MAX_NAMED;
  return `${addresses.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
