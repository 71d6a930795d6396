import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pluralize, publicClusterOf, shorten, truncate, visibleText } from '../src/index.ts';

describe('pluralize', () => {
  it('puts a count before its noun', () => {
    const counts = [0, 1, 2, 1_234_567].map((count) => pluralize(count, 'row'));
    assert.deepEqual(counts, ['0 rows', '1 row', '2 rows', '1,234,567 rows']);
    assert.equal(pluralize(3, 'batch', 'batches'), '3 batches');
  });
});

describe('truncate', () => {
  it('keeps a text of the allowed length, and ends a longer one with an ellipsis at that length', () => {
    assert.equal(truncate('four', 4), 'four');
    assert.equal(truncate('fives', 4), 'fiv…');
    assert.equal(truncate('fives', 1), '…');
  });
});

describe('visibleText', () => {
  it('replaces what hides, turns or breaks a line', () => {
    assert.equal(visibleText('A\u202eB\u0007\n\u2028\ue000\ud800'), 'A�B�����');
    assert.equal(visibleText('na\u00efve \u{1f525} \u{10ffff}'), 'na\u00efve \u{1f525} \u{10ffff}');
  });
});

describe('shorten', () => {
  it('keeps four characters of each end, and short texts whole', () => {
    assert.equal(shorten('7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe'), '7Fq2…9dKe');
    assert.equal(shorten('twelve chars'), 'twelve chars');
  });
});

describe('publicClusterOf', () => {
  it('names the public clusters, and no other', () => {
    assert.equal(publicClusterOf('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'), 'mainnet');
    assert.equal(publicClusterOf('EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'), 'devnet');
    assert.equal(publicClusterOf('4uhcVJyU9pJkvQyUS88uRDiswHXSCkY3zQawwpjk2NsY'), 'testnet');
    assert.equal(publicClusterOf('9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'), null);
  });
});
