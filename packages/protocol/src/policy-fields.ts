import type { Address } from '@solana/kit';
import { isAddress, NOT_AN_ADDRESS } from './addresses.ts';
import { parseAmount, toDecimal } from './amounts.ts';
import { type CompanyPolicy, formatMinutes, parseMinutes } from './company-policy.ts';

/** A policy as people and the wire write it: amounts are whole tokens as decimal text, and what is absent is no rule. */
export interface PolicyFields {
  readonly personPerBatch?: string | undefined;
  readonly personPerRecipient?: string | undefined;
  readonly personPerDay?: string | undefined;
  readonly twoOperatorsPerBatch?: string | undefined;
  readonly capPerRecipient?: string | undefined;
  readonly capsPerType?: readonly { readonly type: string; readonly cap: string }[] | undefined;
  readonly newTokenAccounts?: number | undefined;
  readonly allowed?: readonly string[] | undefined;
  readonly denied?: readonly string[] | undefined;
  readonly hours?: { readonly from: string; readonly to: string } | undefined;
}

/** A value of a policy that cannot be used. */
export interface PolicyIssue {
  /** Path of the value, such as `capsPerType[0].cap`. */
  readonly place: string;
  /** Sentence without its subject, which is the place. */
  readonly problem: string;
}

/** Reads a policy. Lists are sorted, and repeated recipients are listed once. */
export function readPolicy(
  fields: PolicyFields,
  { decimals }: { readonly decimals: number },
): { readonly policy: CompanyPolicy } | { readonly issue: PolicyIssue } {
  const issues: PolicyIssue[] = [];
  const amount = (place: string, text: string | undefined): bigint | null => {
    if (text === undefined) return null;
    try {
      return parseAmount(text, decimals);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      issues.push({ place, problem: `is ${error.message}` });
      return null;
    }
  };
  const list = (place: 'allowed' | 'denied'): Address[] => {
    const valid = new Set<Address>();
    for (const [index, text] of (fields[place] ?? []).entries()) {
      if (isAddress(text)) valid.add(text);
      else issues.push({ place: `${place}[${index}]`, problem: NOT_AN_ADDRESS });
    }
    return [...valid].sort();
  };
  const { capsPerType = [], newTokenAccounts = null, allowed } = fields;
  const caps = capsPerType.map(({ type, cap }, index) => {
    if (capsPerType.findIndex((each) => each.type === type) < index) {
      issues.push({ place: `capsPerType[${index}].type`, problem: `repeats the type ${type}.` });
    }
    return { type, baseUnits: amount(`capsPerType[${index}].cap`, cap) ?? 0n };
  });
  const policy: CompanyPolicy = {
    personPerBatch: amount('personPerBatch', fields.personPerBatch),
    personPerRecipient: amount('personPerRecipient', fields.personPerRecipient),
    personPerDay: amount('personPerDay', fields.personPerDay),
    twoOperatorsPerBatch: amount('twoOperatorsPerBatch', fields.twoOperatorsPerBatch),
    capPerRecipient: amount('capPerRecipient', fields.capPerRecipient),
    capsPerType: caps.toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    newTokenAccounts,
    allowed: allowed === undefined ? null : list('allowed'),
    denied: list('denied'),
    hours: readHours(fields.hours, issues),
  };
  const [issue] = issues;
  return issue ? { issue } : { policy };
}

/** Writes a policy as people and the wire do. */
export function writePolicy(policy: CompanyPolicy, { decimals }: { readonly decimals: number }) {
  const { capsPerType, newTokenAccounts, allowed, denied, hours } = policy;
  const amount = <Name extends string>(name: Name, baseUnits: bigint | null): { readonly [N in Name]?: string } =>
    // A computed name of one member has the type of that member.
    (baseUnits === null ? {} : { [name]: toDecimal(baseUnits, decimals) }) as { readonly [N in Name]?: string };
  return {
    ...amount('personPerBatch', policy.personPerBatch),
    ...amount('personPerRecipient', policy.personPerRecipient),
    ...amount('personPerDay', policy.personPerDay),
    ...amount('twoOperatorsPerBatch', policy.twoOperatorsPerBatch),
    ...amount('capPerRecipient', policy.capPerRecipient),
    ...(capsPerType.length > 0 && {
      capsPerType: capsPerType.map(({ type, baseUnits }) => ({ type, cap: toDecimal(baseUnits, decimals) })),
    }),
    ...(newTokenAccounts !== null && { newTokenAccounts }),
    ...(allowed !== null && { allowed: [...allowed] as string[] }),
    ...(denied.length > 0 && { denied: [...denied] as string[] }),
    ...(hours && { hours: { from: formatMinutes(hours.from), to: formatMinutes(hours.to) } }),
  };
}

function readHours(hours: PolicyFields['hours'], issues: PolicyIssue[]): CompanyPolicy['hours'] {
  if (hours === undefined) return null;
  const [from, to] = [parseMinutes(hours.from), parseMinutes(hours.to)];
  if (from === null || to === null) {
    issues.push({
      place: `hours.${from === null ? 'from' : 'to'}`,
      problem: 'must be a time of the day, such as 08:00.',
    });
    return null;
  }
  if (from === to)
    issues.push({ place: 'hours.to', problem: 'is the same time as `from`. Leave the hours out for always.' });
  return { from, to };
}
