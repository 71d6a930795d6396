import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ImpreciseNumber, parseJson } from '../../src/model/json-number.ts';

describe('parseJson', () => {
  it('equals JSON.parse if no number loses digits', () => {
    const json = fc.json({ noUnicodeString: false } as fc.JsonSharedConstraints);
    fc.assert(
      fc.property(json, (text) => {
        const hasLongNumber = /\d[\d.]{15,}/.test(text) || text.includes('__proto__');
        fc.pre(!hasLongNumber);
        assert.deepEqual(parseJson(text), JSON.parse(text));
      }),
    );
  });

  it('keeps every number of at most 15 significant digits exactly', () => {
    for (const text of [
      '0.1',
      '123456789012345',
      '1000000000000000000000',
      '-0.000123456789012345',
      '1.50000000000000000000',
      '1e300',
    ]) {
      assert.equal(parseJson(text), Number(text));
    }
  });

  it('marks any number with more digits, wherever it stands, with its source text', () => {
    const parsed = parseJson('{"a":[1234567890123456],"b":0.1234567890123456789,"c":"1234567890123456"}');
    assert.deepEqual(parsed, {
      a: [new ImpreciseNumber('1234567890123456')],
      b: new ImpreciseNumber('0.1234567890123456789'),
      c: '1234567890123456',
    });
    assert.equal(new ImpreciseNumber('-0.1234567890123456789e10').significantDigits, 19);
  });

  it('reads strings, escapes and signs beside such a number as they are', () => {
    const parsed = parseJson('{"a\\"1234567890123456":"\\\\","b":[-1234567890123456.5e-3,"1234567890123456",-2e+1]}');
    assert.deepEqual(parsed, {
      'a"1234567890123456': '\\',
      b: [new ImpreciseNumber('-1234567890123456.5e-3'), '1234567890123456', -20],
    });
    assert.deepEqual(parseJson(' 1234567890123456 '), new ImpreciseNumber('1234567890123456'));
  });

  it('never takes an object for such a number', () => {
    const parsed = parseJson('{"imprecise":"1234567890123456","significantDigits":16}');
    assert.ok(!(parsed instanceof ImpreciseNumber));
  });

  it('throws SyntaxError for a key that sets a prototype, deep nesting, too many values or fields, and invalid JSON', () => {
    for (const key of ['__proto__', '\\u005f_proto__', '__pr\\u006fto__']) {
      assert.throws(() => parseJson(`{"a":{"${key}":{"isAdmin":true}}}`), /SyntaxError: .*__proto__/);
    }
    assert.throws(() => parseJson('['.repeat(65) + ']'.repeat(65)), /SyntaxError: .*deeper than 64 levels/);
    assert.ok(parseJson('['.repeat(64) + ']'.repeat(64)));
    assert.throws(() => parseJson(`[${'1,'.repeat(250_000)}1]`), /SyntaxError: .*more than 250000 values/);
    const fields = (count: number) => `{"a":[{"b":1},{${Array.from({ length: count }, (_, i) => `"${i},":[1,2]`)}}]}`;
    assert.ok(parseJson(fields(5_000)));
    assert.throws(() => parseJson(fields(5_001)), /SyntaxError: .*object of more than 5000 fields/);
    for (const text of ['', '{', 'undefined', '01', '{"a":1,}']) assert.throws(() => parseJson(text), SyntaxError);
  });
});
