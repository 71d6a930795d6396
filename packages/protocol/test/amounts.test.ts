import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decimalOf,
  groupDigits,
  MAX_BASE_UNITS,
  MAX_DECIMALS,
  parseAmount,
  parseAmountNumber,
  significantDigits,
  toBaseUnits,
  toDecimal,
} from '@flywheel/protocol';
import fc from 'fast-check';

const u64 = fc.bigInt({ min: 0n, max: MAX_BASE_UNITS });
const decimals = fc.integer({ min: 0, max: MAX_DECIMALS });

describe('parseAmount', () => {
  it('reads back what toDecimal writes, for every u64 and every number of decimals', () => {
    fc.assert(
      fc.property(u64, decimals, (baseUnits, places) => {
        const text = toDecimal(baseUnits, places);
        assert.equal(parseAmount(text, places), baseUnits);
        assert.equal(toBaseUnits(text, places), baseUnits);
      }),
    );
  });

  it('rejects text that is not plain decimal, is too fine, or exceeds u64', () => {
    assert.equal(parseAmount('18446744073709551615', 0), MAX_BASE_UNITS);
    assert.equal(parseAmount(`${'0'.repeat(30)}1.50`, 1), 15n);
    assert.throws(
      () => parseAmount('18446744073709551616', 0),
      /^RangeError: 18446744073709551616 exceeds 18446744073709551615/,
    );
    assert.throws(() => parseAmount('9'.repeat(1_000_000), 0), /exceeds/);
    assert.throws(() => parseAmount('0.0000001', 6), /^RangeError: 0.0000001 has more than the 6 fraction digits/);
    for (const text of ['', '1.', '.5', '-1', '+1', '1e3', '1,5', ' 1', '0x1', '1_000', '١']) {
      assert.throws(() => parseAmount(text, 6), /is not a decimal number/, text);
      assert.equal(toBaseUnits(text, 6), null, text);
    }
  });

  it('stays within u64 and throws only RangeError, whatever the text', () => {
    fc.assert(
      fc.property(fc.string(), decimals, (text, places) => {
        try {
          assert.ok(parseAmount(text, places) <= MAX_BASE_UNITS);
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
        }
      }),
    );
  });
});

describe('parseAmountNumber', () => {
  it('is exact for every JSON number of at most 15 significant digits', () => {
    const digits = fc.bigInt({ min: 1n, max: 10n ** 15n - 1n });
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 9 }), decimals, (significand, fraction, places) => {
        const exact = significand * 10n ** BigInt(places);
        const isWhole = exact % 10n ** BigInt(fraction) === 0n;
        const baseUnits = exact / 10n ** BigInt(fraction);
        for (const written of [toDecimal(significand, fraction), `${significand}e-${fraction}`]) {
          const parse = () => parseAmountNumber(Number(written), places);
          if (!isWhole || baseUnits > MAX_BASE_UNITS) assert.throws(parse, RangeError);
          else assert.equal(parse(), baseUnits);
        }
      }),
    );
  });

  it('rejects one digit more than the mint has, and accepts one base unit', () => {
    assert.equal(parseAmountNumber(0.000001, 6), 1n);
    assert.equal(parseAmountNumber(1e-9, 9), 1n);
    assert.throws(() => parseAmountNumber(0.0000001, 6), /1e-7 has more than the 6 fraction digits/);
    assert.throws(() => parseAmountNumber(1.5, 0), /1.5 has more than the 0 fraction digits/);
  });

  it('rejects numbers that are not positive, not finite or above u64', () => {
    assert.throws(() => parseAmountNumber(1e300, 6), /^RangeError: 1e\+300 exceeds 18446744073709.551615/);
    for (const amount of [0, -1, Number.NaN, -0]) {
      assert.throws(() => parseAmountNumber(amount, 6), /is not greater than zero/);
    }
    assert.throws(() => parseAmountNumber(Number.POSITIVE_INFINITY, 6), RangeError);
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer()), decimals, (amount, places) => {
        try {
          const baseUnits = parseAmountNumber(amount, places);
          assert.ok(baseUnits > 0n && baseUnits <= MAX_BASE_UNITS);
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('decimalOf', () => {
  it('writes every digit of a JSON number and no exponent', () => {
    assert.equal(decimalOf(1e-7), '0.0000001');
    assert.equal(decimalOf(1.5e-7), '0.00000015');
    assert.equal(decimalOf(1e21), '1000000000000000000000');
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

describe('decimal text', () => {
  it('is grouped in threes', () => {
    assert.equal(groupDigits('1234567.5'), '1,234,567.5');
    assert.equal(groupDigits('1000'), '1,000');
    assert.equal(groupDigits('100'), '100');
    assert.equal(groupDigits('0.000000001'), '0.000000001');
    assert.equal(groupDigits(toDecimal(-1_500n, 3)), '-1.5');
  });

  it('counts its significant digits without leading and trailing zeros', () => {
    for (const [text, digits] of [
      ['0', 0],
      ['0.50', 1],
      ['100', 1],
      ['1200.0340', 7],
      ['1234567890.123456', 16],
    ] as const) {
      assert.equal(significantDigits(text), digits, text);
    }
  });
});
