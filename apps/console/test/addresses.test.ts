import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { plainSearch } from '../src/app/plain-search.ts';
import { tokenName, tokenUnit } from '../src/lib/format.ts';

const MINT = '4hFJ1bQYcUTPsrEeU7wqqAiWiGtbq1DwqjE2GgKcdAvk';

describe('a link to a proof', () => {
  it('carries its payload byte for byte', () => {
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

  it('is no longer than what it says', () => {
    assert.equal(plainSearch.stringifySearch({ type: undefined }), '');
    assert.deepEqual(plainSearch.parseSearch(''), {});
  });
});

describe('the name of a token', () => {
  it('is its symbol, as far as that is letters, digits and plain signs', () => {
    assert.equal(tokenName({ symbol: 'WHEEL', mint: MINT }), 'WHEEL');
    assert.equal(tokenName({ symbol: '\u202eLEEHW', mint: MINT }), 'LEEHW');
    assert.equal(tokenName({ symbol: 'APPROVE THIS BATCH NOW', mint: MINT }), 'APPROVETHISB');
  });

  it('is its mint where the symbol says nothing', () => {
    for (const symbol of [undefined, '', ' \u200b ']) assert.equal(tokenName({ symbol, mint: MINT }), '4hFJ…dAvk');
    assert.equal(tokenUnit({ symbol: '' }), 'tokens');
  });
});
