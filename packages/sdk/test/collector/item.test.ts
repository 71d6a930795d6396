import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CollectedItem, parseItem } from '../../src/collector/item.ts';
import { FlywheelError } from '../../src/errors.ts';

describe('parseItem()', () => {
  it('says what is wrong with an item in the words of the service', () => {
    for (const [actions, place, message] of [
      [[{ action: 'BURN', amount: '5' }], 'actions[0].amount', 'must be a number, not a string.'],
      [[{ action: 'BURN' }], 'actions[0].amount', 'is missing.'],
      [[{ action: 'BURN', amount: -1 }], 'actions[0].amount', 'must be greater than 0.'],
      [[{ action: 'BURN', amount: 5, note: '' }], 'actions[0]', 'has the unknown field "note".'],
      [[{ action: 'BURN', amount: Number.NaN }], 'actions[0].amount', 'must be a number, not NaN.'],
      [[{ action: 'burn', amount: 5 }], 'actions[0].action', 'must be "BURN" or "AIRDROP" or "MEMO".'],
      [[], 'actions', 'must not be empty.'],
      [undefined, 'actions', 'is missing.'],
    ] as const) {
      // An event of a program without types.
      const item = { id: 'order-1', type: 'ORDER', payload: {}, actions } as unknown as CollectedItem;
      assert.throws(
        () => parseItem(item, 0),
        (error) => {
          assert.ok(error instanceof FlywheelError);
          assert.equal(error.message, `Item order-1: ${place} ${message}`);
          assert.deepEqual(error.problems, [{ code: 'ERR_INVALID_REQUEST', place, message }]);
          return true;
        },
      );
    }
  });
});
