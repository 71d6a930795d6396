import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeEntry } from '../src/features/audit/describe-entry.ts';

describe('an entry of the audit log', () => {
  it('says what was there before and what is since, and nothing of what stayed', () => {
    const entry = describeEntry({
      action: 'limits.changed',
      before: { burnLimit: '1000', airdropLimit: '25000.5' },
      after: { burnLimit: '1000000', airdropLimit: '25000.5' },
    });
    assert.deepEqual(entry, {
      title: 'Changed the daily limits',
      changes: [{ name: 'Daily burn limit', before: '1,000', after: '1,000,000' }],
    });
  });

  it('shows that a schema was changed under the same name', () => {
    const types = (minLength: number) => ({ proofTypes: [{ type: 'WATCH_AD', payloadSchema: { minLength } }] });
    const [change] = describeEntry({ action: 'proof-types.changed', before: types(1), after: types(2) }).changes;
    assert.equal(change?.before, 'WATCH_AD (schema {"minLength":1})');
    assert.equal(change?.after, 'WATCH_AD (schema {"minLength":2})');
  });

  it('names keys as people read them, and leaves times to be shown as local ones', () => {
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

  it('has a title for what carries nothing else', () => {
    assert.deepEqual(describeEntry({ action: 'company.paused' }), { title: 'Paused every project', changes: [] });
  });
});
