import type { RotateAction } from '@flywheel/api';
import type { MemberChange } from '../chain/read-rotation.ts';
import type { Difference } from './compare-batch.ts';

/** Everything in which the change on chain is another than the replacement shown; empty when it is that alone. */
export function compareRotation(
  { from, to }: Pick<RotateAction, 'from' | 'to'>,
  changes: readonly MemberChange[],
): Difference[] {
  const [first, second, ...more] = changes;
  const isReplacement =
    first?.kind === 'add' &&
    first.member === to &&
    first.permissions === VOTE_ALONE &&
    second?.kind === 'remove' &&
    second.member === from &&
    more.length === 0;
  if (isReplacement) return [];
  const shown = `${to} may vote, and ${from} is no member any more`;
  const found = changes.map(describe).join(', then ') || 'nothing';
  return [{ pipeline: 0, text: `Shown: ${shown}. On chain: ${found}.` }];
}

/** Squads’ permission bit, and no other: neither to propose nor to execute. */
const VOTE_ALONE = 2;

function describe(change: MemberChange): string {
  switch (change.kind) {
    case 'add':
      return `${change.member} becomes a member with the permissions ${change.permissions} (${VOTE_ALONE} is to vote)`;
    case 'remove':
      return `${change.member} is no member any more`;
    case 'other':
      return `a change of the multisig’s configuration of kind ${change.number}`;
    default:
      return change satisfies never;
  }
}
