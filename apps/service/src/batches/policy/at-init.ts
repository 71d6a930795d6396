import { ApiError, type ErrorCode } from '@flywheel/api';
import type { CompanyPolicy } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { requirements } from '../../compile/totals.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import { startOfNextUtcDay } from '../../model/clock.ts';
import type { Project } from '../../model/project.ts';
import { findMissingTokenAccounts } from '../../solana/vault.ts';
import { countPolicyUses, NO_USES } from '../../store/company/policy-uses.ts';
import type { Db } from '../../store/db.ts';
import { type BatchIssue, toProblem } from '../check/check-batch.ts';
import type { Deps } from '../deps.ts';
import { findMetRules, type MetRule } from './evaluate.ts';
import { countAdded, readFacts, tokenAccountUses, usesOf } from './facts.ts';

/**
 * Reads from the chain which of its recipients' token accounts a batch would create. Makes no call for a batch of burns. An
 * account that a node does not show yet, because an earlier batch of the day has just created it, is counted once all the same.
 */
export async function readNewTokenAccounts(
  { chain }: Pick<Deps, 'chain'>,
  { token }: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<Address[]> {
  const addresses = requirements(pipelines, token).tokenAccounts.map(({ address }) => address);
  if (addresses.length === 0) return [];
  return chain.decide(0n, (view) => findMissingTokenAccounts(view, token, addresses));
}

export interface JudgedRequest {
  readonly batchId: string;
  /** The UTC day of init. */
  readonly day: string;
  readonly now: Date;
  readonly policy: CompanyPolicy;
  /** Token accounts that it would create; null if no rule counted them when the chain was to be read. */
  readonly newTokenAccounts: readonly Address[] | null;
}

/**
 * Judges a new batch by the company's rules, and counts it for its caps. The caller must hold the lock of the project's
 * flywheel, and must roll back when this throws.
 * @throws ApiError ERR_POLICY_REFUSED, ERR_POLICY_CAP_REACHED
 */
export async function admitByPolicy(
  trx: Db,
  { id: projectId, token }: Project,
  pipelines: readonly CompiledPipeline[],
  { batchId, day, now, policy, newTokenAccounts }: JudgedRequest,
): Promise<void> {
  const facts = readFacts(pipelines, token);
  // A rule that was set since the chain was to be read is judged when the company signs, as for the batches before it.
  const counted = policy.newTokenAccounts === null ? [] : (newTokenAccounts ?? []);
  const asked = [...usesOf([policy], facts), ...tokenAccountUses(counted)];
  const used = asked.length === 0 ? NO_USES : await countPolicyUses(trx, { batchId, projectId, day }, asked);
  const { uses } = used;
  // What the day has moved matters for rules that need a person only, which refuse nothing.
  const judged = { day, moved: 0n, uses, tokenAccounts: countAdded(asked, used) };
  const [error] = toPolicyErrors(findMetRules(policy, token, facts, judged), now);
  if (error) throw error;
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
