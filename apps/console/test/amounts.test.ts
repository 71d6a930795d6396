import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupDigits } from '@flywheel/protocol';
import { formatBaseUnits, fromFinestUnits, shareOf, toFinestUnits } from '../src/lib/amounts.ts';

describe('amounts', () => {
  it('are formatted with separators and without trailing zeros', () => {
    assert.equal(formatBaseUnits(1_234_567_500_000n, 6), '1,234,567.5');
    assert.equal(formatBaseUnits(1n, 9), '0.000000001');
    assert.equal(formatBaseUnits(-1_500n, 3), '-1.5');
    assert.equal(groupDigits('1000'), '1,000');
    assert.equal(groupDigits('100'), '100');
  });

  it('are added for a token of any decimals', () => {
    const finest = `0.${'0'.repeat(254)}1`;
    assert.equal(fromFinestUnits(toFinestUnits(finest) + toFinestUnits('1')), finest.replace('0', '1'));
  });

  it('have a share between 0 and 1', () => {
    assert.equal(shareOf(1n, 4n), 0.25);
    assert.equal(shareOf(5n, 4n), 1);
    assert.equal(shareOf(0n, 0n), 0);
    assert.equal(shareOf(1n, 0n), 1);
  });
});
