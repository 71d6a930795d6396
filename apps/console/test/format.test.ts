import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { plainSearch } from '../src/app/plain-search.ts';
import { base58Kind, tokenName, tokenUnit, unitBeside } from '../src/lib/format.ts';

const MINT = '4hFJ1bQYcUTPsrEeU7wqqAiWiGtbq1DwqjE2GgKcdAvk';

describe('plainSearch', () => {
  it('keeps a payload byte for byte', () => {
    const payloads = fc.oneof(
      fc.json(),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('1', 'true', '{"a": 1}', '{"a":1}', ' ', '+', '%20'),
    );
    fc.assert(
      fc.property(payloads, (payload) => {
        const search = plainSearch.stringifySearch({ type: 'WATCH_AD', payload });
        assert.deepEqual(plainSearch.parseSearch(search), { type: 'WATCH_AD', payload });
      }),
    );
  });

  it('writes nothing for no values', () => {
    assert.equal(plainSearch.stringifySearch({ type: undefined }), '');
    assert.deepEqual(plainSearch.parseSearch(''), {});
  });
});

describe('base58Kind', () => {
  it('tells addresses and signatures apart, and from other text', () => {
    const kinds = [MINT, '1'.repeat(32), 'A'.repeat(44), 'A'.repeat(64), 'A'.repeat(88)].map(base58Kind);
    assert.deepEqual(kinds, ['address', 'address', 'address', 'signature', 'signature']);
    for (const text of [
      '',
      'A'.repeat(31),
      'A'.repeat(45),
      'A'.repeat(63),
      'A'.repeat(89),
      `0${MINT.slice(1)}`,
      `${MINT} `,
    ]) {
      assert.equal(base58Kind(text), null, text);
    }
  });
});

describe('tokenName', () => {
  it('keeps letters, digits and plain signs of the symbol, up to 12', () => {
    assert.equal(tokenName({ symbol: 'WHEEL', mint: MINT }), 'WHEEL');
    assert.equal(tokenName({ symbol: '\u202eLEEHW', mint: MINT }), 'LEEHW');
    assert.equal(tokenName({ symbol: 'APPROVE THIS BATCH NOW', mint: MINT }), 'APPROVETHISB');
  });

  it('falls back to the shortened mint for an empty symbol', () => {
    for (const symbol of [undefined, '', ' \u200b ']) assert.equal(tokenName({ symbol, mint: MINT }), '4hFJ…dAvk');
    assert.equal(tokenUnit({ symbol: '' }), 'tokens');
  });
});

describe('unitBeside', () => {
  it('has a singular for one token, and for no other amount and no symbol', () => {
    assert.deepEqual(
      ['1', '0', '1.5', '11'].map((amount) => unitBeside(amount, 'tokens')),
      ['token', 'tokens', 'tokens', 'tokens'],
    );
    assert.equal(unitBeside('1', 'WHEEL'), 'WHEEL');
  });
});
