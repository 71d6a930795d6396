import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  describePolicy,
  describePolicyChange,
  fromPolicyJson,
  NO_POLICY,
  type PolicyFields,
  policyHash,
  readPolicy,
  toPolicyJson,
  writePolicy,
} from '@flywheel/protocol';

const TOKEN = { decimals: 6 };
const ALICE = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const BOB = 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB';
const FIELDS = {
  personPerBatch: '1000',
  twoOperatorsPerBatch: '2500.5',
  capsPerType: [
    { type: 'WATCH_AD', cap: '10' },
    { type: 'PURCHASE', cap: '20' },
  ],
  newTokenAccounts: 1,
  allowed: [BOB, ALICE, BOB],
  denied: [ALICE],
  hours: { from: '22:00', to: '06:30' },
} as const satisfies PolicyFields;

function read(fields: PolicyFields) {
  const result = readPolicy(fields, TOKEN);
  assert.ok('policy' in result);
  return result.policy;
}

describe('a policy', () => {
  it('is the same whatever the order of its lists, and survives JSON and its written form', () => {
    const policy = read(FIELDS);
    const turned = read({ ...FIELDS, allowed: [ALICE, BOB], capsPerType: FIELDS.capsPerType.toReversed() });
    assert.deepEqual(turned, policy);
    assert.deepEqual(read(writePolicy(policy, TOKEN)), policy);
    const stored = fromPolicyJson(JSON.parse(JSON.stringify(toPolicyJson(policy))));
    assert.deepEqual(stored, policy);
    assert.equal(policyHash(stored), policyHash(turned));
    assert.deepEqual(read({}), NO_POLICY);
  });

  it('has another hash with every rule changed', () => {
    const changes: readonly PolicyFields[] = [
      {},
      { personPerBatch: '1' },
      { personPerRecipient: '1' },
      { personPerDay: '1' },
      { twoOperatorsPerBatch: '1' },
      { capPerRecipient: '1' },
      { capsPerType: [{ type: 'A', cap: '1' }] },
      { capsPerType: [{ type: 'B', cap: '1' }] },
      { newTokenAccounts: 1 },
      { allowed: [] },
      { allowed: [ALICE] },
      { denied: [ALICE] },
      { hours: { from: '00:00', to: '00:01' } },
      { hours: { from: '00:01', to: '00:00' } },
    ];
    const hashes = changes.map((fields) => policyHash(read(fields)));
    assert.equal(new Set(hashes).size, changes.length);
  });

  it('is one sentence for each rule', () => {
    assert.deepEqual(
      describePolicy(read(FIELDS), TOKEN).map(({ sentence }) => sentence),
      [
        'An operator of the company approves a batch of more than 1,000 tokens.',
        'Two operators of the company approve a batch of more than 2,500.5 tokens.',
        'The proof type PURCHASE moves at most 20 tokens a day.',
        'The proof type WATCH_AD moves at most 10 tokens a day.',
        'The vault pays for at most 1 new token account a day.',
        'Only 2 listed recipients may be paid.',
        '1 listed recipient may not be paid.',
        'The company signs from 22:00 to 06:30 UTC only.',
      ],
    );
  });

  it('names what changes, recipients by their addresses', () => {
    const from = read({ personPerBatch: '10', hours: FIELDS.hours, denied: [ALICE] });
    const to = read({ personPerBatch: '5', capPerRecipient: '1', denied: [BOB] });
    assert.deepEqual(describePolicyChange(from, to, TOKEN), [
      'Changed: An operator of the company approves a batch of more than 5 tokens. Before: An operator of the company approves a batch of more than 10 tokens.',
      'New: One recipient receives at most 1 token a day.',
      'Removed: The company signs from 22:00 to 06:30 UTC only.',
      `Denied recipients added: ${BOB}.`,
      `Denied recipients removed: ${ALICE}.`,
    ]);
    assert.deepEqual(describePolicyChange(to, to, TOKEN), []);
  });

  it('is refused with the place of a value that cannot be used', () => {
    const wrong: readonly (readonly [PolicyFields, string])[] = [
      [{ personPerBatch: '1.0000001' }, 'personPerBatch'],
      [{ capsPerType: [{ type: 'A', cap: '-1' }] }, 'capsPerType[0].cap'],
      [{ capsPerType: [FIELDS.capsPerType[0], FIELDS.capsPerType[0]] }, 'capsPerType[1].type'],
      [{ denied: [ALICE, 'nobody'] }, 'denied[1]'],
      [{ hours: { from: '24:00', to: '01:00' } }, 'hours.from'],
      [{ hours: { from: '01:00', to: '01:00' } }, 'hours.to'],
    ];
    for (const [fields, place] of wrong) {
      const result = readPolicy(fields, TOKEN);
      assert.equal('issue' in result && result.issue.place, place);
    }
  });
});
