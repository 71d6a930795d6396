import { ApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { CompiledPipeline } from '../../model/batch.ts';
import { secondsToNextUtcDay } from '../../model/clock.ts';
import type { Token } from '../../model/project.ts';
import type { RulesInForce } from '../../store/batches/cap-use.ts';
import type { CountedUses, PolicyUse } from '../../store/company/policy-uses.ts';
import { type CodedIssue, listProblems } from '../check/check-batch.ts';
import { findMetRules, type MetRule } from './evaluate.ts';
import { allUsesOf, type BatchFacts, countAdded, readFacts, tokenAccountUses, usesOf } from './facts.ts';
import { recipientTokenAccounts } from './token-accounts.ts';

/** The facts of a batch that the company's rules judge, as they are known before the lock. */
export interface RuledRequest {
  readonly facts: BatchFacts;
  /** Those of its recipients. */
  readonly tokenAccounts: readonly Address[];
}

export interface JudgedRequest extends RuledRequest {
  /** The UTC day of init. */
  readonly day: string;
  readonly now: Date;
  /** Null if they were not looked up: then the token accounts of all recipients count. */
  readonly read: ReadTokenAccounts | null;
}

/** Reads what rules judge of a batch. */
export function readRuled(pipelines: readonly CompiledPipeline[], token: Token): RuledRequest {
  return { facts: readFacts(pipelines, token), tokenAccounts: recipientTokenAccounts(pipelines, token) };
}

/** Lists all that rules may count of a batch. */
export function mayCount({ facts, tokenAccounts }: RuledRequest): PolicyUse[] {
  return [...allUsesOf(facts), ...tokenAccountUses(tokenAccounts)];
}

/** The token accounts of a request that init has looked up on chain. */
export interface ReadTokenAccounts {
  /** Those that the batch would create. */
  readonly missing: readonly Address[];
  /** How often this request has looked: batches that are created meanwhile may make it necessary again. */
  readonly times: number;
}

/** After so many times, those of other batches that were not looked up count as missing. */
const MAX_READINGS = 5;

/**
 * Judges a new batch by the company's rules.
 * @param rules as the caller has read them under the lock of the project's flywheel.
 * @returns what the batch counts for caps; `unread` if the day has no room for every token account that the batch may need, and
 * some were not looked up on chain: those that exist do not count. The caller looks them up and tries again.
 * @throws ApiError ERR_POLICY_REFUSED, ERR_POLICY_CAP_REACHED
 */
export function admitByPolicy(
  { policy, used }: RulesInForce,
  token: Pick<Token, 'decimals'>,
  { facts, tokenAccounts, day, now, read }: JudgedRequest,
): CountedUses | 'unread' {
  const counted = policy.newTokenAccounts === null ? [] : (read?.missing ?? tokenAccounts);
  const uses = [...usesOf([policy], facts), ...tokenAccountUses(counted)];
  // What the day has moved matters for rules that need a person only, which refuse nothing.
  const judged = { day, moved: 0n, uses: used.uses, tokenAccounts: countAdded(uses, used) };
  const met = findMetRules(policy, token, facts, judged);
  const mayRead = read === null || (used.hasUnread && read.times < MAX_READINGS);
  if (mayRead && met.some(({ rule }) => rule === 'newTokenAccounts')) return 'unread';
  const [error] = toPolicyErrors(met, now);
  if (error) throw error;
  return { uses, isRead: read !== null };
}

/** An error names this many rules: a rule about recipients may be met by each of them. */
const MAX_NAMED = 10;

/** Combines the rules that refuse a batch into errors, those about recipients first. Empty if none refuses it. */
function toPolicyErrors(
  met: readonly MetRule[],
  now: Date,
): (ApiError<'ERR_POLICY_REFUSED'> | ApiError<'ERR_POLICY_CAP_REACHED'>)[] {
  const [refused, capped] = [
    met.filter((each) => each.effect === 'refused'),
    met.filter((each) => each.effect === 'capped'),
  ];
  const retryAfterSeconds = secondsToNextUtcDay(now);
  return [
    ...(refused.length === 0 ? [] : [new ApiError('ERR_POLICY_REFUSED', listed(refused))]),
    ...(capped.length === 0 ? [] : [new ApiError('ERR_POLICY_CAP_REACHED', { ...listed(capped), retryAfterSeconds })]),
  ];
}

/** Lists the rules that refuse a batch as issues of a preview. */
export function toPolicyIssues(met: readonly MetRule[]): CodedIssue[] {
  return met.flatMap(({ effect, message, recipient }) => {
    const code = CODES[effect];
    if (code === null) return [];
    return [{ code, place: recipient?.place ?? null, message, recipient: recipient?.address ?? null }];
  });
}

const CODES = {
  refused: 'ERR_POLICY_REFUSED',
  capped: 'ERR_POLICY_CAP_REACHED',
  person: null,
  twoOperators: null,
  waits: null,
} as const;

/** The sentences of rules name the recipient themselves, so that they have no place before them. */
function listed(met: readonly MetRule[]) {
  return listProblems(toPolicyIssues(met), MAX_NAMED, ({ message }) => message);
}
