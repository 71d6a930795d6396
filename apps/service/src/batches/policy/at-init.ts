import { ApiError, type ErrorCode } from '@flywheel/api';
import type { CompanyPolicy } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { CompiledPipeline } from '../../model/batch.ts';
import { startOfNextUtcDay } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { countPolicyUses, NO_USES } from '../../store/company/policy-uses.ts';
import type { Db } from '../../store/db.ts';
import { type BatchIssue, toProblem } from '../check/check-batch.ts';
import { findMetRules, type MetRule } from './evaluate.ts';
import { countAdded, readFacts, tokenAccountUses, usesOf } from './facts.ts';
import { recipientTokenAccounts } from './token-accounts.ts';

export interface JudgedRequest {
  readonly batchId: string;
  /** The UTC day of init. */
  readonly day: string;
  readonly now: Date;
  readonly policy: CompanyPolicy;
  /** Null if they were not looked up: then the token accounts of all recipients count. */
  readonly read: ReadTokenAccounts | null;
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
 * Judges a new batch by the company's rules, and counts it for its caps. The caller must hold the lock of the project's
 * flywheel, and must roll back when this throws or returns `unread`.
 * @returns `unread` if the day has no room for every token account that the batch may need, and some were not looked up on chain:
 * those that exist do not count. The caller looks them up and tries again.
 * @throws ApiError ERR_POLICY_REFUSED, ERR_POLICY_CAP_REACHED
 */
export async function admitByPolicy(
  trx: Db,
  { id: projectId, token }: Project,
  pipelines: readonly CompiledPipeline[],
  { batchId, day, now, policy, read }: JudgedRequest,
): Promise<'admitted' | 'unread'> {
  const facts = readFacts(pipelines, token);
  const isRead = read !== null;
  const counted = policy.newTokenAccounts === null ? [] : (read?.missing ?? recipientTokenAccounts(pipelines, token));
  const asked = [...usesOf([policy], facts), ...tokenAccountUses(counted)];
  const used = asked.length === 0 ? NO_USES : await countPolicyUses(trx, { batchId, projectId, day, isRead }, asked);
  const { uses, hasUnread } = used;
  // What the day has moved matters for rules that need a person only, which refuse nothing.
  const judged = { day, moved: 0n, uses, tokenAccounts: countAdded(asked, used) };
  const met = findMetRules(policy, token, facts, judged);
  const mayRead = read === null || (hasUnread && read.times < MAX_READINGS);
  if (mayRead && met.some(({ rule }) => rule === 'newTokenAccounts')) return 'unread';
  const [error] = toPolicyErrors(met, now);
  if (error) throw error;
  return 'admitted';
}

/** An error lists this many sentences, and more in its data. */
const MAX_NAMED = 10;
const MAX_DETAILS = 1_000;

/** Combines the rules that refuse a batch into errors, those about recipients first. Empty if none refuses it. */
export function toPolicyErrors(
  met: readonly MetRule[],
  now: Date,
): (ApiError<'ERR_POLICY_REFUSED'> | ApiError<'ERR_POLICY_CAP_REACHED'>)[] {
  const [refused, capped] = [
    met.filter((each) => each.effect === 'refused'),
    met.filter((each) => each.effect === 'capped'),
  ];
  const retryAfterSeconds = Math.ceil((startOfNextUtcDay(now).getTime() - now.getTime()) / 1_000);
  return [
    ...(refused.length === 0 ? [] : [new ApiError('ERR_POLICY_REFUSED', listed('ERR_POLICY_REFUSED', refused))]),
    ...(capped.length === 0
      ? []
      : [new ApiError('ERR_POLICY_CAP_REACHED', { ...listed('ERR_POLICY_CAP_REACHED', capped), retryAfterSeconds })]),
  ];
}

/** Lists the rules that refuse a batch as issues of a preview. */
export function toPolicyIssues(met: readonly MetRule[]): (Omit<BatchIssue, 'code'> & { readonly code: ErrorCode })[] {
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

function listed(code: ErrorCode, met: readonly MetRule[]) {
  const more = met.length - MAX_NAMED;
  const sentences = met.slice(0, MAX_NAMED).map(({ message }) => message);
  return {
    problems: more > 0 ? [...sentences, `And ${more} more.`] : sentences,
    details: met
      .slice(0, MAX_DETAILS)
      .map(({ message, recipient }) =>
        toProblem({ code, place: recipient?.place ?? null, message, recipient: recipient?.address ?? null }),
      ),
  };
}
