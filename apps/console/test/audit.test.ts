import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeEntry } from '../src/features/audit/describe-entry.ts';

describe('describeEntry', () => {
  it('shows old and new values of what changed, and omits the rest', () => {
    const entry = describeEntry({
      action: 'limits.changed',
      before: { burnLimit: '1000', airdropLimit: '25000.5' },
      after: { burnLimit: '1000000', airdropLimit: '25000.5' },
    });
    assert.deepEqual(entry, {
      title: 'Changed the daily limits',
      changes: [{ name: 'Daily burn limit', before: '1,000 tokens', after: '1,000,000 tokens' }],
    });
  });

  it('names the amounts that the company approves by itself as the settings do', () => {
    for (const action of ['terms.changed', 'project.admitted'] as const) {
      const { changes } = describeEntry({
        action,
        before: { approvalMode: 'automatic', burnLimit: '1000', airdropLimit: '1000' },
        after: { approvalMode: 'manual', burnLimit: '3', airdropLimit: '1' },
      });
      assert.deepEqual(changes, [
        { name: 'Company approval', before: 'Automatic', after: 'Manual' },
        { name: 'Burned per day without approval by a person', before: '1,000 tokens', after: '3 tokens' },
        { name: 'Airdropped per day without approval by a person', before: '1,000 tokens', after: '1 token' },
      ]);
    }
  });

  it('says that a project without proof types accepts any', () => {
    const { changes } = describeEntry({ action: 'project.registered', after: { proofTypes: [], scopes: [] } });
    assert.deepEqual(changes, [
      { name: 'Proof types', before: null, after: 'Any' },
      { name: 'Scopes', before: null, after: 'none' },
    ]);
  });

  it('shows a changed schema under an unchanged name', () => {
    const types = (minLength: number) => ({ proofTypes: [{ type: 'WATCH_AD', payloadSchema: { minLength } }] });
    const [change] = describeEntry({ action: 'proof-types.changed', before: types(1), after: types(2) }).changes;
    assert.equal(change?.before, 'WATCH_AD (schema {"minLength":1})');
    assert.equal(change?.after, 'WATCH_AD (schema {"minLength":2})');
  });

  it('labels fields in words and keeps times as ISO 8601', () => {
    const { changes } = describeEntry({
      action: 'key.rotated',
      before: undefined,
      after: {
        replacedBy: '0f085d06-51d2-44d8-b93e-38450579138c',
        expiresAt: '2026-11-22T08:04:11.123Z',
        new: { name: 'backend', scopes: ['burn'], expiresAt: null },
      },
    });
    assert.deepEqual(changes, [
      { name: 'Replaced by', before: null, after: '0f08…138c' },
      { name: 'Expires', before: null, after: '2026-11-22T08:04:11.123Z' },
      { name: 'New key', before: null, after: 'Name: backend; Scopes: burn' },
    ]);
  });

  it('labels the recipient, asset and amount of a withdrawal', () => {
    const { changes } = describeEntry({
      action: 'withdrawal.requested',
      after: { to: 'recipient', asset: 'SOL', amount: '1000.25' },
    });
    assert.deepEqual(changes, [
      { name: 'To', before: null, after: 'recipient' },
      { name: 'Asset', before: null, after: 'SOL' },
      { name: 'Amount', before: null, after: '1,000.25' },
    ]);
  });

  it('has a title for an entry without values', () => {
    assert.deepEqual(describeEntry({ action: 'company.paused' }), { title: 'Paused every project', changes: [] });
  });
});
