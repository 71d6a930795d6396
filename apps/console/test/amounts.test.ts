import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupDigits } from '@flywheel/protocol';
import { decimalOf, toBaseUnits, toDecimal } from '@flywheel/sdk';
import fc from 'fast-check';
import { formatBaseUnits, shareOf } from '../src/lib/amounts.ts';

describe('amounts', () => {
  it('convert to base units and back unchanged', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.integer({ min: 0, max: 19 }),
        (baseUnits, decimals) => {
          assert.equal(toBaseUnits(toDecimal(baseUnits, decimals), decimals), baseUnits);
        },
      ),
    );
  });

  it('are formatted with separators and without trailing zeros', () => {
    assert.equal(formatBaseUnits(1_234_567_500_000n, 6), '1,234,567.5');
    assert.equal(formatBaseUnits(1n, 9), '0.000000001');
    assert.equal(formatBaseUnits(-1_500n, 3), '-1.5');
    assert.equal(groupDigits('1000'), '1,000');
    assert.equal(groupDigits('100'), '100');
  });

  it('with more fraction digits than the token are rejected', () => {
    assert.equal(toBaseUnits('0.0000001', 6), null);
    assert.equal(toBaseUnits('1.50', 1), 15n);
    assert.equal(toBaseUnits('1e3', 6), null);
    assert.equal(toBaseUnits('', 6), null);
  });

  it('have a share between 0 and 1', () => {
    assert.equal(shareOf(1n, 4n), 0.25);
    assert.equal(shareOf(5n, 4n), 1);
    assert.equal(shareOf(0n, 0n), 0);
    assert.equal(shareOf(1n, 0n), 1);
  });

  it('from JSON numbers keep all digits', () => {
    assert.equal(decimalOf(1e-7), '0.0000001');
    assert.equal(decimalOf(1.5e-7), '0.00000015');
    assert.equal(decimalOf(1e21), '1000000000000000000000');
    assert.equal(decimalOf(0.1), '0.1');
    assert.equal(decimalOf(1234.5), '1234.5');
    fc.assert(
      fc.property(fc.double({ min: 1e-19, max: 1e24, noNaN: true }), (value) => {
        const text = decimalOf(value);
        assert.match(text, /^\d+(\.\d+)?$/);
        assert.equal(Number(text), value);
      }),
    );
  });
});
