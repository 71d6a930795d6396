import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPolicy } from '@flywheel/protocol';
import { describeIssue, fromDraft, type RulesDraft } from '../src/features/policy/rules-draft.ts';

const EMPTY: RulesDraft = {
  personPerBatch: '',
  personPerRecipient: '',
  personPerDay: '',
  twoOperatorsPerBatch: '',
  capPerRecipient: '',
  capsPerType: '',
  newTokenAccounts: '',
  allowed: '',
  denied: '',
  from: '',
  to: '',
};

function issueOf(draft: Partial<RulesDraft>): string | null {
  const read = readPolicy(fromDraft({ ...EMPTY, ...draft }), { decimals: 6 });
  return 'issue' in read ? describeIssue(read.issue) : null;
}

describe('the form of the company’s rules', () => {
  it('reads a type and an amount a line, with a space, a comma or a semicolon between them', () => {
    assert.deepEqual(fromDraft({ ...EMPTY, capsPerType: 'WATCH_AD 1000\n\nREFERRAL, 2.5\nSHARE;3 ' }).capsPerType, [
      { type: 'WATCH_AD', cap: '1000' },
      { type: 'REFERRAL', cap: '2.5' },
      { type: 'SHARE', cap: '3' },
    ]);
  });

  it('refuses a line that has more than a type and an amount', () => {
    for (const line of ['WATCH_AD 1,000', 'WATCH_AD 1 000', 'WATCH_AD 1 REFERRAL 2']) {
      assert.match(issueOf({ capsPerType: `SHARE 5\n${line}` }) ?? 'accepted', /^Entry 2 is /, line);
    }
  });

  it('names no field of the API in an issue', () => {
    assert.match(issueOf({ personPerBatch: 'many' }) ?? 'accepted', /^The value is /);
    assert.match(issueOf({ denied: 'nobody' }) ?? 'accepted', /^Entry 1 is not an address/);
  });
});
