import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomAddress } from '@flywheel/testing/records';
import { findForeignKey } from '../../src/batches/decisions.ts';

describe('findForeignKey', () => {
  const [company, wallet, to] = [randomAddress(), randomAddress(), randomAddress()];
  const presentKeys = { operator: randomAddress(), company: randomAddress() };
  const find = (role: 'approver' | 'operator', from: typeof to, next: typeof to) =>
    findForeignKey({ replacement: { role, from, to: next } }, { company: { address: company }, presentKeys });

  it('refuses to replace the company’s key or the operator by a key that is not this worker’s', () => {
    assert.equal(find('approver', company, to), `${to} is not the company approver of this worker.`);
    assert.equal(find('approver', company, presentKeys.operator)?.includes('company approver'), true);
    assert.equal(find('operator', randomAddress(), to), `${to} is not the operator of this worker.`);
  });

  it('accepts this worker’s present keys, any new wallet, and what rotates nothing', () => {
    assert.equal(find('approver', company, presentKeys.company), null);
    assert.equal(find('operator', randomAddress(), presentKeys.operator), null);
    assert.equal(find('approver', wallet, to), null);
    assert.equal(findForeignKey({ pipelines: [] }, { company: { address: company }, presentKeys }), null);
  });
});
