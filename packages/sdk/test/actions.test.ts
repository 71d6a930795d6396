import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { Pipeline } from '@flywheel/api';
import { airdrop, burn, memo, pipeline, totalTokens } from '@flywheel/sdk';
import { packAirdropCsv } from '@flywheel/sdk/airdrop-csv';

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
    for (const odd of [0, -1, -0.5, '0', '0.00', '-1', `1${'0'.repeat(400)}`, `0.${'0'.repeat(400)}1`]) {
      assert.throws(() => burn(odd), /^RangeError: .* tokens: an amount must be greater than zero\.$/, String(odd));
    }
    const untyped = JSON.parse('[null]')[0];
    for (const odd of ['1e3', ' 1', '0x10', '1.', '.5', '1,5', 'x', '', '--1', Number.NaN, Infinity, untyped])
      assert.throws(() => burn(odd), /^RangeError: .* is not a (plain )?decimal number/, String(odd));
  });

  it('add up exactly, withdrawals and rotations apart', () => {
    const made = [
      pipeline('SALE', { order: 1 }, burn(0.1), airdrop(WALLET, 0.2), memo('thank you')),
      pipeline('SALE', { order: 2 }, airdrop(WALLET, '0.000000001')),
    ];
    assert.deepEqual(totalTokens(made), { burned: '0.1', airdropped: '0.200000001', total: '0.300000001' });
    const withdrawal = { actions: [{ action: 'WITHDRAW', asset: 'TOKEN', amount: '5' }] };
    assert.equal(totalTokens([withdrawal]).total, '0');
  });

  it('add up amounts of a token of any decimals, and refuse what is no amount of a token', () => {
    const made = [pipeline('SALE', { order: 1 }, burn(1e-21), airdrop(WALLET, `0.${'0'.repeat(254)}1`))];
    const airdropped = `0.${'0'.repeat(254)}1`;
    const total = `0.${'0'.repeat(20)}1${'0'.repeat(233)}1`;
    assert.deepEqual(totalTokens(made), { burned: `0.${'0'.repeat(20)}1`, airdropped, total });
    for (const amount of [1e-300, -5, Number.POSITIVE_INFINITY])
      assert.throws(() => totalTokens([{ actions: [{ action: 'BURN', amount }] }]), RangeError, String(amount));
  });
});

describe('packAirdropCsv', () => {
  it('packs a file into pipelines that name its hash and lines, equal for an equal file', async () => {
    const csv = `address,amount\n${WALLET},1.25\n`;
    const [packed, ...others] = await packAirdropCsv(csv, { type: 'SEASON_1', decimals: 6 });
    const sha256 = createHash('sha256').update(csv).digest('hex');
    assert.deepEqual(packed, pipeline('SEASON_1', { sha256, lines: [2] }, airdrop(WALLET, 1.25)));
    assert.equal(others.length, 0);
  });

  it('lists every row with an issue, repeated addresses by default', async () => {
    const csv = `${WALLET},1\n${WALLET},2\nnobody,1\n`;
    await assert.rejects(packAirdropCsv(csv, { type: 'SEASON_1', decimals: 6 }), /Line 2: .*\nLine 3: /);
    const merged = await packAirdropCsv(csv.replace(/nobody.*/, ''), { type: 'A', decimals: 6, duplicates: 'merge' });
    assert.deepEqual(merged[0]?.actions, [airdrop(WALLET, 3)]);
  });
});
