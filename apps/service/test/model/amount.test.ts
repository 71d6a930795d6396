import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatTokens, parseTokens, toBaseUnits } from '../../src/model/amount.ts';

const MAX_U64 = 2n ** 64n - 1n;
const u64 = fc.bigInt({ min: 0n, max: MAX_U64 });
const decimals = fc.integer({ min: 0, max: 19 });

describe('amounts', () => {
  it('formatted and parsed again are the same, for every base-unit amount and every number of decimals', () => {
    fc.assert(
      fc.property(u64, decimals, (amountBaseUnits, places) => {
        assert.equal(parseTokens(formatTokens(amountBaseUnits, places), places), amountBaseUnits);
      }),
    );
  });

  it('are exact for every JSON number of at most 15 significant digits, however it is written', () => {
    const digits = fc.bigInt({ min: 1n, max: 10n ** 15n - 1n });
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 9 }), decimals, (significand, fraction, places) => {
        const text = formatTokens(significand, fraction);
        const exact = significand * 10n ** BigInt(places);
        const isWhole = exact % 10n ** BigInt(fraction) === 0n;
        const amountBaseUnits = exact / 10n ** BigInt(fraction);
        const parse = () => toBaseUnits(Number(text), places);
        if (!isWhole || amountBaseUnits > MAX_U64) assert.throws(parse, RangeError);
        else assert.equal(parse(), amountBaseUnits);
        const exponent = `${significand}e-${fraction}`;
        if (isWhole && amountBaseUnits <= MAX_U64) assert.equal(parseTokens(exponent, places), amountBaseUnits);
      }),
    );
  });

  it('with a digit more than the mint has are refused, and one base unit is not', () => {
    assert.equal(toBaseUnits(0.000001, 6), 1n);
    assert.equal(toBaseUnits(1e-9, 9), 1n);
    assert.throws(() => toBaseUnits(0.0000001, 6), /1e-7 has more than the 6 fraction digits/);
    assert.throws(() => toBaseUnits(1.5, 0), /1.5 has more than the 0 fraction digits/);
  });

  it('above u64, not above zero, or not a number are refused', () => {
    assert.equal(parseTokens('18446744073709551615', 0), MAX_U64);
    assert.throws(() => parseTokens('18446744073709551616', 0), /exceeds 18446744073709551615/);
    assert.throws(() => toBaseUnits(1e300, 6), /exceeds 18446744073709.551615/);
    for (const amount of [0, -1, Number.NaN, -0])
      assert.throws(() => toBaseUnits(amount, 6), /is not greater than zero/);
    assert.throws(() => toBaseUnits(Number.POSITIVE_INFINITY, 6), RangeError);
  });

  it('never leave the range of u64 and never throw anything but RangeError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer()), decimals, (amount, places) => {
        try {
          const amountBaseUnits = toBaseUnits(amount, places);
          assert.ok(amountBaseUnits > 0n && amountBaseUnits <= MAX_U64);
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
        }
      }),
      { numRuns: 1_000 },
    );
    fc.assert(
      fc.property(fc.string(), decimals, (text, places) => {
        try {
          assert.ok(parseTokens(text, places) <= MAX_U64);
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error));
        }
      }),
    );
  });
});
