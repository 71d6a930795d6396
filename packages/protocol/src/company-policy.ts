import type { Address } from '@solana/kit';
import { writeTokens } from './amounts.ts';
import { sha256Hex } from './sha256.ts';
import { pluralize } from './wording.ts';

/**
 * Rules of the company for one project. Amounts are base units of the project's token, burned and airdropped together; null
 * is no rule. A policy without rules is one as well: it replaces the one before it.
 */
export interface CompanyPolicy {
  /** An operator approves a batch of more. */
  readonly personPerBatch: bigint | null;
  /** An operator approves a batch in which one recipient receives more. */
  readonly personPerRecipient: bigint | null;
  /** An operator approves a batch with which its UTC day has more. */
  readonly personPerDay: bigint | null;
  /** Two operators approve a batch of more. Counts withdrawals of the token too. */
  readonly twoOperatorsPerBatch: bigint | null;
  /** The most that one recipient receives in a UTC day. */
  readonly capPerRecipient: bigint | null;
  /** The most that pipelines of a proof type burn and airdrop in a UTC day. Sorted by type, each once. */
  readonly capsPerType: readonly TypeCap[];
  /** The most token accounts that the vault pays for in a UTC day. */
  readonly newTokenAccounts: number | null;
  /** The only recipients; null if all are allowed. Sorted, each once. */
  readonly allowed: readonly Address[] | null;
  /** Recipients that receive nothing. Sorted, each once. */
  readonly denied: readonly Address[];
  /** Times of a UTC day at which the company signs; null is always. */
  readonly hours: PolicyHours | null;
}

/** The most base units of one proof type in a UTC day. */
export interface TypeCap {
  readonly type: string;
  readonly baseUnits: bigint;
}

/** Minutes after midnight, UTC, from 0 to 1,439. A window whose end is before its start spans midnight. */
export interface PolicyHours {
  readonly from: number;
  /** The first minute after the window. Differs from `from`. */
  readonly to: number;
}

/** The policy of a project before the company sets one. */
export const NO_POLICY: CompanyPolicy = {
  personPerBatch: null,
  personPerRecipient: null,
  personPerDay: null,
  twoOperatorsPerBatch: null,
  capPerRecipient: null,
  capsPerType: [],
  newTokenAccounts: null,
  allowed: null,
  denied: [],
  hours: null,
};

export type PolicyRuleName = keyof CompanyPolicy;

/** One rule as a sentence. */
export interface PolicySentence {
  readonly rule: PolicyRuleName;
  /** The proof type, of a cap per type; null for other rules. */
  readonly type: string | null;
  readonly sentence: string;
}

type Decimals = Pick<{ readonly decimals: number }, 'decimals'>;

/** Describes the rules of a policy, one sentence each, in a fixed order. Empty if it has none. */
export function describePolicy(policy: CompanyPolicy, token: Decimals): PolicySentence[] {
  const tokens = (baseUnits: bigint) => writeTokens(baseUnits, token);
  const amount = (rule: AmountRule, write: (text: string) => string): PolicySentence[] => {
    const baseUnits = policy[rule];
    return baseUnits === null ? [] : [{ rule, type: null, sentence: write(tokens(baseUnits)) }];
  };
  const { capsPerType, newTokenAccounts, allowed, denied, hours } = policy;
  return [
    ...amount('personPerBatch', (text) => `An operator of the company approves a batch of more than ${text}.`),
    ...amount(
      'personPerRecipient',
      (text) => `An operator of the company approves a batch with more than ${text} for one recipient.`,
    ),
    ...amount(
      'personPerDay',
      (text) => `An operator of the company approves a batch with which the day has more than ${text}.`,
    ),
    ...amount('twoOperatorsPerBatch', (text) => `Two operators of the company approve a batch of more than ${text}.`),
    ...amount('capPerRecipient', (text) => `One recipient receives at most ${text} a day.`),
    ...capsPerType.map(({ type, baseUnits }) => ({
      rule: 'capsPerType' as const,
      type,
      sentence: `The proof type ${type} moves at most ${tokens(baseUnits)} a day.`,
    })),
    ...single('newTokenAccounts', newTokenAccounts, (count) => {
      return `The vault pays for at most ${pluralize(count, 'new token account')} a day.`;
    }),
    ...single('allowed', allowed, ({ length }) => `Only ${pluralize(length, 'listed recipient')} may be paid.`),
    ...single('denied', denied.length === 0 ? null : denied, ({ length }) => {
      return `${pluralize(length, 'listed recipient')} may not be paid.`;
    }),
    ...single('hours', hours, (window) => `The company signs from ${describeHours(window)} only.`),
  ];
}

/** Describes a window: `08:00 to 18:00 UTC`. */
export function describeHours({ from, to }: PolicyHours): string {
  return `${formatMinutes(from)} to ${formatMinutes(to)} UTC`;
}

/** Writes minutes after midnight as `08:05`. */
export function formatMinutes(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Reads `08:05` as minutes after midnight; null for any other text. */
export function parseMinutes(text: string): number | null {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hours === undefined || minutes === undefined ? null : Number(hours) * 60 + Number(minutes);
}

/** Describes what a new policy changes, one sentence for each difference. Empty if nothing differs. */
export function describePolicyChange(from: CompanyPolicy, to: CompanyPolicy, token: Decimals): string[] {
  const keyOf = ({ rule, type }: PolicySentence) => `${rule} ${type ?? ''}`;
  const [before, after] = [from, to].map(
    (policy) => new Map(describePolicy(policy, token).map((each) => [keyOf(each), each.sentence])),
  );
  if (!before || !after) return [];
  const changed = [...after].flatMap(([key, sentence]) => {
    const earlier = before.get(key);
    if (earlier === sentence) return [];
    return [earlier === undefined ? `New: ${sentence}` : `Changed: ${sentence} Before: ${earlier}`];
  });
  const removed = [...before].flatMap(([key, sentence]) => (after.has(key) ? [] : [`Removed: ${sentence}`]));
  const lists = [
    ...listChanges('Allowed', from.allowed ?? [], to.allowed ?? []),
    ...listChanges('Denied', from.denied, to.denied),
  ];
  return [...changed, ...removed, ...lists];
}

/**
 * Writes the lines of a policy in the text that an operator signs: each rule that has one number, the lengths of lists, and
 * the hash of the whole.
 */
export function policyLines(policy: CompanyPolicy, token: Decimals): string[] {
  const tokens = (baseUnits: bigint | null) => (baseUnits === null ? null : writeTokens(baseUnits, token));
  const rows: readonly (readonly [string, string | null])[] = [
    ['Person above, batch', tokens(policy.personPerBatch)],
    ['Person above, recipient', tokens(policy.personPerRecipient)],
    ['Person above, day', tokens(policy.personPerDay)],
    ['Two operators above', tokens(policy.twoOperatorsPerBatch)],
    ['Recipient a day', tokens(policy.capPerRecipient)],
    ['Proof types with a cap', policy.capsPerType.length === 0 ? null : String(policy.capsPerType.length)],
    ['New token accounts a day', policy.newTokenAccounts === null ? null : String(policy.newTokenAccounts)],
    ['Allowed recipients', policy.allowed === null ? null : String(policy.allowed.length)],
    ['Denied recipients', policy.denied.length === 0 ? null : String(policy.denied.length)],
    ['Hours', policy.hours && describeHours(policy.hours)],
  ];
  const set = rows.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return [...(set.length === 0 ? ['Rules: none'] : set), `Policy: ${policyHash(policy)}`];
}

/** Hashes a policy: lowercase hex SHA-256 of its JSON, with amounts as decimal text of base units and members in this order. */
export function policyHash(policy: CompanyPolicy): string {
  return sha256Hex(JSON.stringify(toPolicyJson(policy)));
}

/** A policy as JSON: amounts are decimal text of base units. */
export interface PolicyJson extends Omit<CompanyPolicy, AmountRule | 'capsPerType'>, Record<AmountRule, string | null> {
  readonly capsPerType: readonly { readonly type: string; readonly baseUnits: string }[];
}

/** Writes a policy as JSON, its members in a fixed order. */
export function toPolicyJson(policy: CompanyPolicy): PolicyJson {
  const text = (baseUnits: bigint | null) => (baseUnits === null ? null : String(baseUnits));
  return {
    personPerBatch: text(policy.personPerBatch),
    personPerRecipient: text(policy.personPerRecipient),
    personPerDay: text(policy.personPerDay),
    twoOperatorsPerBatch: text(policy.twoOperatorsPerBatch),
    capPerRecipient: text(policy.capPerRecipient),
    capsPerType: policy.capsPerType.map(({ type, baseUnits }) => ({ type, baseUnits: String(baseUnits) })),
    newTokenAccounts: policy.newTokenAccounts,
    allowed: policy.allowed,
    denied: policy.denied,
    hours: policy.hours && { from: policy.hours.from, to: policy.hours.to },
  };
}

/** Reads a policy that `toPolicyJson` wrote. */
export function fromPolicyJson(json: PolicyJson): CompanyPolicy {
  const amount = (text: string | null) => (text === null ? null : BigInt(text));
  return {
    ...json,
    personPerBatch: amount(json.personPerBatch),
    personPerRecipient: amount(json.personPerRecipient),
    personPerDay: amount(json.personPerDay),
    twoOperatorsPerBatch: amount(json.twoOperatorsPerBatch),
    capPerRecipient: amount(json.capPerRecipient),
    capsPerType: json.capsPerType.map(({ type, baseUnits }) => ({ type, baseUnits: BigInt(baseUnits) })),
  };
}

type AmountRule = 'personPerBatch' | 'personPerRecipient' | 'personPerDay' | 'twoOperatorsPerBatch' | 'capPerRecipient';

function single<Value>(
  rule: PolicyRuleName,
  value: Value | null,
  write: (value: Value) => string,
): readonly PolicySentence[] {
  return value === null ? [] : [{ rule, type: null, sentence: write(value) }];
}

/** Differences name this many addresses of each list. */
const MAX_NAMED = 10;

function listChanges(name: string, from: readonly Address[], to: readonly Address[]): string[] {
  const [before, after] = [new Set(from), new Set(to)];
  // The SDK also runs in Node 20, whose sets have no `difference`.
  return [
    ...nameAll(
      `${name} recipients added`,
      [...after].filter((address) => !before.has(address)),
    ),
    ...nameAll(
      `${name} recipients removed`,
      [...before].filter((address) => !after.has(address)),
    ),
  ];
}

function nameAll(what: string, addresses: readonly Address[]): string[] {
  if (addresses.length === 0) return [];
  const more = addresses.length - MAX_NAMED;
  return [`${what}: ${addresses.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`];
}
