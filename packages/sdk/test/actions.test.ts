import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pipeline } from '@flywheel/api';
import { airdrop, burn, memo, pipeline } from '@flywheel/sdk';

const WALLET = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';

describe('the pipeline builders', () => {
  it('build the wire format, with objects as JSON text', () => {
    const made = pipeline('WATCH_AD', { adId: 'ä 1' }, burn(0.25), airdrop(WALLET, '1.5'), memo('thank you'));
    assert.deepEqual(Pipeline.parse(made), made);
    assert.equal(made.payload, '{"adId":"ä 1"}');
    assert.equal(pipeline('A', ' {"a": 1.0} ', burn(1)).payload, ' {"a": 1.0} ');
  });

  it('accept decimal text exactly, and reject amounts that a JSON number would change', () => {
    assert.deepEqual(burn('0.000000001'), { action: 'BURN', amount: 1e-9 });
    assert.deepEqual(burn('123456789.012345'), { action: 'BURN', amount: 123456789.012345 });
    assert.throws(() => burn('1234567890.0123456'), /has 17 significant digits; an amount may have 15/);
    assert.throws(() => airdrop(WALLET, 0.1 + 0.2), /0\.30000000000000004 has 17 significant digits/);
    for (const odd of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '', 'ten', '-1']) {
      assert.throws(() => burn(odd), RangeError, String(odd));
    }
    for (const odd of ['1e3', ' 1', '0x10', '1.', '.5'])
      assert.throws(() => burn(odd), /not a plain decimal number/, odd);
  });
});
