import type { CompanyPolicy } from '@flywheel/api';
import type { PolicyFields } from '@flywheel/protocol';
import { readAddressColumn } from '@flywheel/protocol/airdrop-csv';

/** What the form holds: text, empty for no rule. */
export interface RulesDraft {
  readonly personPerBatch: string;
  readonly personPerRecipient: string;
  readonly personPerDay: string;
  readonly twoOperatorsPerBatch: string;
  readonly capPerRecipient: string;
  /** A type and an amount a line. */
  readonly capsPerType: string;
  readonly newTokenAccounts: string;
  /** CSV with recipients in the first column. */
  readonly allowed: string;
  readonly denied: string;
  readonly from: string;
  readonly to: string;
}

export type RuleField = keyof RulesDraft;

/** Opens rules in the form. */
export function toDraft(policy: CompanyPolicy): RulesDraft {
  return {
    personPerBatch: policy.personPerBatch ?? '',
    personPerRecipient: policy.personPerRecipient ?? '',
    personPerDay: policy.personPerDay ?? '',
    twoOperatorsPerBatch: policy.twoOperatorsPerBatch ?? '',
    capPerRecipient: policy.capPerRecipient ?? '',
    capsPerType: (policy.capsPerType ?? []).map(({ type, cap }) => `${type} ${cap}`).join('\n'),
    newTokenAccounts: policy.newTokenAccounts === undefined ? '' : String(policy.newTokenAccounts),
    allowed: (policy.allowed ?? []).join('\n'),
    denied: (policy.denied ?? []).join('\n'),
    from: policy.hours?.from ?? '',
    to: policy.hours?.to ?? '',
  };
}

/** Reads the form. An empty list of allowed recipients allows all, because a list that allows none would be useless. */
export function fromDraft(draft: RulesDraft): PolicyFields {
  const [allowed, denied] = [readAddressColumn(draft.allowed), readAddressColumn(draft.denied)];
  const caps = draft.capsPerType.split('\n').flatMap((line) => {
    // Whatever follows the type is the amount: `1,000` is none, and is refused, while its first part would be a cap of 1.
    const [, type = '', cap = ''] = /^([^\s,;]*)[\s,;]*(.*)$/.exec(line.trim()) ?? [];
    return type === '' ? [] : [{ type, cap }];
  });
  return {
    personPerBatch: amountOf(draft.personPerBatch),
    personPerRecipient: amountOf(draft.personPerRecipient),
    personPerDay: amountOf(draft.personPerDay),
    twoOperatorsPerBatch: amountOf(draft.twoOperatorsPerBatch),
    capPerRecipient: amountOf(draft.capPerRecipient),
    ...(caps.length > 0 && { capsPerType: caps }),
    ...(draft.newTokenAccounts !== '' && { newTokenAccounts: Number(draft.newTokenAccounts) }),
    ...(allowed.length > 0 && { allowed }),
    ...(denied.length > 0 && { denied }),
    ...((draft.from !== '' || draft.to !== '') && { hours: { from: draft.from, to: draft.to } }),
  };
}

/** Says an issue of the rules below its field, in which an entry of a list is named by its number. */
export function describeIssue({ place, problem }: { readonly place: string; readonly problem: string }): string {
  const index = /\[(\d+)\]/.exec(place)?.[1];
  return `${index === undefined ? 'The value' : `Entry ${Number(index) + 1}`} ${problem}`;
}

function amountOf(text: string): string | undefined {
  return text === '' ? undefined : text;
}
