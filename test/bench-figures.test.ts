import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { percentile } from '../bench/figures.ts';
import { replacePart } from '../bench/results.ts';

describe('percentile', () => {
  it('is the value of the nearest rank', () => {
    const sample = [5, 1, 4, 2, 3];
    assert.deepEqual([percentile(sample, 0.5), percentile(sample, 0.99), percentile([7], 0.5)], [3, 5, 7]);
  });

  it('of a sample with missing measurements is an error that counts them', () => {
    assert.throws(() => percentile([1, undefined, undefined], 0.5), /1 of 3 are there/);
    assert.throws(() => percentile([Number.NaN, 2], 0.5), /1 of 2 are there/);
    assert.throws(() => percentile([], 0.5), /0 of 0 are there/);
  });
});

describe('the recorded results', () => {
  const recorded = '# Results\n\nHead.\n\n## init\n\nOld.\n\n## get\n\nKept.\n';

  it('keep the other parts when one is measured again', () => {
    const expected = recorded.replace('Old.', 'New.');
    assert.equal(replacePart(recorded, 'init', '## init\n\nNew.\n'), expected);
  });

  it('grow by a part that is measured for the first time', () => {
    assert.equal(replacePart(recorded, 'nonces', '## nonces\n\nFirst.\n'), `${recorded}\n## nonces\n\nFirst.\n`);
  });
});
