import { address, type CompanyPolicy, parseAmountNumber } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { parseWithdrawnAmount } from '../../compile/actions.ts';
import { withdrawalsOf } from '../../compile/totals.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Token } from '../../model/project.ts';
import type { PolicyUse } from '../../store/company/policy-uses.ts';

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

function toUse(kind: PolicyUse['kind'], subject: string, baseUnits: bigint): PolicyUse {
  return { kind, subject, baseUnits };
}
