import { address, type CompanyPolicy, parseAmountNumber } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { parseWithdrawnAmount } from '../../compile/actions.ts';
import { requirements, withdrawalsOf } from '../../compile/totals.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Token } from '../../model/project.ts';
import { type DayUses, type PolicyUse, useKey } from '../../store/company/policy-uses.ts';

/** What rules judge of a batch. Amounts are base units. */
export interface BatchFacts {
  /** Burned and airdropped. */
  readonly moved: bigint;
  /** Tokens that a withdrawal takes. */
  readonly withdrawn: bigint;
  readonly byRecipient: ReadonlyMap<Address, Received>;
  /** Burned and airdropped, without types that move nothing. */
  readonly byType: ReadonlyMap<string, bigint>;
}

interface Received {
  readonly baseUnits: bigint;
  /** Path of the first action that pays it. */
  readonly place: string;
}

/** Reads the facts of a batch from its actions. */
export function readFacts(
  pipelines: readonly Pick<CompiledPipeline, 'type' | 'actions'>[],
  token: Pick<Token, 'decimals'>,
): BatchFacts {
  const byRecipient = new Map<Address, Received>();
  const byType = new Map<string, bigint>();
  let moved = 0n;
  for (const [position, { type, actions }] of pipelines.entries()) {
    for (const [index, action] of actions.entries()) {
      if (action.action !== 'BURN' && action.action !== 'AIRDROP') continue;
      const baseUnits = parseAmountNumber(action.amount, token.decimals);
      moved += baseUnits;
      byType.set(type, (byType.get(type) ?? 0n) + baseUnits);
      if (action.action === 'BURN') continue;
      const recipient = address(action.toAddress);
      const { baseUnits: before = 0n, place = `pipelines[${position}].actions[${index}].toAddress` } =
        byRecipient.get(recipient) ?? {};
      byRecipient.set(recipient, { baseUnits: before + baseUnits, place });
    }
  }
  const withdrawn = withdrawalsOf(pipelines, 'TOKEN').reduce(
    (sum, each) => sum + parseWithdrawnAmount(each, token),
    0n,
  );
  return { moved, withdrawn, byRecipient, byType };
}

/** Lists what a batch takes of the caps of these policies. Empty if they have none, or none that concerns the batch. */
export function usesOf(policies: readonly CompanyPolicy[], { byRecipient, byType }: BatchFacts): PolicyUse[] {
  const hasRecipientCap = policies.some(({ capPerRecipient }) => capPerRecipient !== null);
  const types = new Set(policies.flatMap(({ capsPerType }) => capsPerType.map(({ type }) => type)));
  return [
    ...(hasRecipientCap
      ? [...byRecipient].map(([subject, { baseUnits }]) => toUse('recipient', subject, baseUnits))
      : []),
    ...[...byType].filter(([type]) => types.has(type)).map(([type, baseUnits]) => toUse('type', type, baseUnits)),
  ];
}

/** Lists all that a batch may have taken of caps. */
export function allUsesOf({ byRecipient, byType }: BatchFacts): PolicyUse[] {
  return [
    ...[...byRecipient].map(([subject, { baseUnits }]) => toUse('recipient', subject, baseUnits)),
    ...[...byType].map(([type, baseUnits]) => toUse('type', type, baseUnits)),
  ];
}

/** Lists what a batch may have taken of caps and has not used: that of all pipelines after the executed ones. */
export function unusedOf(
  pipelines: readonly Pick<CompiledPipeline, 'type' | 'actions' | 'instructions'>[],
  executed: number,
  token: Pick<Token, 'decimals'>,
): PolicyUse[] {
  const left = pipelines.slice(executed);
  const tokenAccountsOf = (some: typeof left) => requirements(some, token).tokenAccounts.map(({ address }) => address);
  const created = new Set(tokenAccountsOf(pipelines.slice(0, executed)));
  const uncreated = tokenAccountsOf(left).filter((address) => !created.has(address));
  return [...allUsesOf(readFacts(left, token)), ...tokenAccountUses(uncreated)];
}

/** Lists the uses of token accounts that the vault would pay for. */
export function tokenAccountUses(addresses: readonly Address[]): PolicyUse[] {
  return addresses.map((address) => toUse('token-account', address, 1n));
}

/** New token accounts of a batch and of its day. */
export interface CountedTokenAccounts {
  /** Those that the batch adds: two batches that pay one new recipient need one. */
  readonly asked: number;
  /** Those of the day's other batches. */
  readonly usedToday: number;
}

/** Counts the token accounts that a batch adds to those of its day. */
export function countAdded(asked: readonly PolicyUse[], { uses, tokenAccounts }: DayUses): CountedTokenAccounts {
  const added = asked.filter((use) => use.kind === 'token-account' && (uses.get(useKey(use)) ?? 0n) === 0n);
  return { asked: added.length, usedToday: tokenAccounts };
}

function toUse(kind: PolicyUse['kind'], subject: string, amount: bigint): PolicyUse {
  return { kind, subject, amount };
}
