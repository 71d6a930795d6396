import type { MetRule as WireMetRule } from '@flywheel/api';
import {
  type CompanyPolicy,
  describePolicy,
  formatMinutes,
  type PolicyHours,
  type PolicyRuleName,
  type PolicySentence,
  pluralize,
  writeTokens,
} from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { DAY_MS, startOfNextUtcDay, startOfUtcDay } from '../../model/clock.ts';
import type { Token } from '../../model/project.ts';
import { useKey } from '../../store/company/policy-uses.ts';
import type { BatchFacts, CountedTokenAccounts } from './facts.ts';

/** A rule that a batch meets. */
export interface MetRule extends PolicySentence {
  readonly effect: WireMetRule['effect'];
  /** Sentences: the fact, and the rule. */
  readonly message: string;
  /** The recipient that causes it, and the path of the first action that pays it; null for other causes. */
  readonly recipient: { readonly address: Address; readonly place: string } | null;
  /** When the batch may go on, of a rule that makes it wait; null for other rules. */
  readonly until: Date | null;
}

/** The day that a batch is judged on. */
export interface JudgedDay {
  /** UTC, `2026-11-21`. */
  readonly day: string;
  /** Burned and airdropped by the other batches of the day, base units. */
  readonly moved: bigint;
  /** By `useKey`, of the other batches. */
  readonly uses: ReadonlyMap<string, bigint>;
  /** The uses that init counts; null if they are not judged by the day of init. */
  readonly tokenAccounts: CountedTokenAccounts | null;
}

/** The moment of a judgement, for the rules that make a batch wait. */
export interface JudgedMoment {
  readonly now: Date;
  /** The uses that workers count when the company signs; null if they are not judged by that. */
  readonly tokenAccounts: CountedTokenAccounts | null;
}

type Decimals = Pick<Token, 'decimals'>;

/** Lists the rules that a batch of pipelines meets on a day, in the order of `describePolicy`. */
export function findMetRules(policy: CompanyPolicy, token: Decimals, facts: BatchFacts, day: JudgedDay): MetRule[] {
  const { moved, byRecipient, byType } = facts;
  const describe = describer(policy, token);
  const amount = (baseUnits: bigint) => writeTokens(baseUnits, token);
  const isAbove = (baseUnits: bigint, most: bigint | null) => most !== null && baseUnits > most;
  const met: MetRule[] = [];
  const recipients = [...byRecipient].map(([address, received]) => ({ address, ...received }));
  if (isAbove(moved, policy.personPerBatch)) {
    met.push(describe('personPerBatch', 'person', `It moves ${amount(moved)}.`));
  }
  const [largest] = recipients.toSorted((a, b) => (a.baseUnits < b.baseUnits ? 1 : -1));
  if (largest && isAbove(largest.baseUnits, policy.personPerRecipient)) {
    met.push(describe('personPerRecipient', 'person', `${largest.address} receives ${amount(largest.baseUnits)}.`));
  }
  if (moved > 0n && isAbove(day.moved + moved, policy.personPerDay)) {
    met.push(describe('personPerDay', 'person', `With it, ${day.day} has ${amount(day.moved + moved)}.`));
  }
  if (isAbove(moved, policy.twoOperatorsPerBatch)) {
    met.push(describe('twoOperatorsPerBatch', 'twoOperators', `It moves ${amount(moved)}.`));
  }
  for (const { address, baseUnits, place } of policy.capPerRecipient === null ? [] : recipients) {
    const sum = baseUnits + (day.uses.get(useKey({ kind: 'recipient', subject: address })) ?? 0n);
    if (!isAbove(sum, policy.capPerRecipient)) continue;
    const fact = `With it, ${address} receives ${amount(sum)} on ${day.day}.`;
    met.push(describe('capPerRecipient', 'capped', fact, { recipient: { address, place } }));
  }
  for (const { type, baseUnits: most } of policy.capsPerType) {
    const asked = byType.get(type) ?? 0n;
    const sum = asked + (day.uses.get(useKey({ kind: 'type', subject: type })) ?? 0n);
    if (asked === 0n || sum <= most) continue;
    met.push(describe('capsPerType', 'capped', `With it, ${type} moves ${amount(sum)} on ${day.day}.`, { type }));
  }
  const tokenAccounts = findTokenAccountRule(policy, token, day.tokenAccounts, { effect: 'capped' });
  return [...met, ...tokenAccounts, ...findRefused(policy, token, facts)];
}

/**
 * Compares new token accounts with those that the rule allows a day. A batch that needs more than a whole day's needs a
 * person, because no other day has room for it.
 */
function findTokenAccountRule(
  policy: CompanyPolicy,
  token: Decimals,
  counted: CountedTokenAccounts | null,
  { effect, ...details }: { readonly effect: MetRule['effect'] } & Details,
): MetRule[] {
  const { newTokenAccounts: most } = policy;
  if (most === null || counted === null) return [];
  const { asked, usedToday } = counted;
  if (asked === 0 || asked + usedToday <= most) return [];
  const describe = describer(policy, token);
  const fact = `It needs ${pluralize(asked, 'new token account')}, and today’s batches have ${usedToday}.`;
  if (asked > most) return [describe('newTokenAccounts', 'person', fact)];
  return [describe('newTokenAccounts', effect, fact, details)];
}

/** Lists the recipients of a batch that may not be paid. */
function findRefused(policy: CompanyPolicy, token: Decimals, { byRecipient }: BatchFacts): MetRule[] {
  const describe = describer(policy, token);
  const [allowed, denied] = [policy.allowed && new Set(policy.allowed), new Set(policy.denied)];
  return [...byRecipient].flatMap(([address, { place }]) => {
    const recipient = { recipient: { address, place } };
    return [
      ...(allowed === null || allowed.has(address)
        ? []
        : [describe('allowed', 'refused', `${address} is not an allowed recipient.`, recipient)]),
      ...(denied.has(address) ? [describe('denied', 'refused', `${address} is a denied recipient.`, recipient)] : []),
    ];
  });
}

/** Returns the rule that needs two operators for a withdrawal, if it meets that one. No other rule is about withdrawals. */
export function findWithdrawalRule(policy: CompanyPolicy, token: Decimals, { withdrawn }: BatchFacts): MetRule[] {
  const { twoOperatorsPerBatch } = policy;
  if (twoOperatorsPerBatch === null || withdrawn <= twoOperatorsPerBatch) return [];
  const fact = `It withdraws ${writeTokens(withdrawn, token)}.`;
  return [describer(policy, token)('twoOperatorsPerBatch', 'twoOperators', fact)];
}

/** Lists the rules that make a batch wait now, or that need a person for what the chain shows. */
export function findWaits(policy: CompanyPolicy, token: Decimals, { now, tokenAccounts }: JudgedMoment): MetRule[] {
  const describe = describer(policy, token);
  const { hours } = policy;
  const met = findTokenAccountRule(policy, token, tokenAccounts, { effect: 'waits', until: startOfNextUtcDay(now) });
  const minute = now.getUTCHours() * 60 + now.getUTCMinutes();
  if (hours !== null && !isWithin(hours, minute)) {
    met.push(describe('hours', 'waits', `It is ${formatMinutes(minute)} UTC.`, { until: nextStart(hours, now) }));
  }
  return met;
}

/** Presents a rule that a batch meets as the wire does. */
export function presentMetRule({ rule, effect, message }: MetRule): WireMetRule {
  return { rule, effect, message };
}

interface Details {
  readonly type?: string;
  readonly recipient?: MetRule['recipient'];
  readonly until?: Date;
}

/** Joins a fact with the sentence of its rule. The sentences are written when a rule is met, which is seldom. */
function describer(policy: CompanyPolicy, token: Decimals) {
  let sentences: readonly PolicySentence[] | null = null;
  return (rule: PolicyRuleName, effect: MetRule['effect'], fact: string, details: Details = {}): MetRule => {
    const { type = null, recipient = null, until = null } = details;
    sentences ??= describePolicy(policy, token);
    const sentence = sentences.find((each) => each.rule === rule && each.type === type);
    if (!sentence) throw new Error(`The policy has no sentence for its rule ${rule}.`);
    return { ...sentence, effect, message: `${fact} ${sentence.sentence}`, recipient, until };
  };
}

function isWithin({ from, to }: PolicyHours, minute: number): boolean {
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

const MINUTE_MS = 60_000;

/** Computes when a window begins next. The caller must be outside of it. */
function nextStart({ from }: PolicyHours, now: Date): Date {
  const start = startOfUtcDay(now).getTime() + from * MINUTE_MS;
  return new Date(start > now.getTime() ? start : start + DAY_MS);
}
