import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import { pipelineSize } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { packAirdrop } from '../src/features/compose/airdrop-file.ts';

describe('packAirdrop', () => {
  it('packs rows in order into pipelines that fit one transaction each', async () => {
    const signers = await Promise.all(Array.from({ length: 20 }, generateKeyPairSigner));
    const addresses = signers.map(({ address }) => address);
    const csv = ['address,amount', ...addresses.map((address) => `${address},1.25`)].join('\n');
    const { rows } = readAirdropCsv(csv, { decimals: 6, duplicates: 'merge' });
    const file = { name: 'a.csv', sha256: 'ab'.repeat(32) };
    const pipelines = packAirdrop(rows, { type: 'SEASON_1', file, mint: addresses[0] ?? '' });
    assert.deepEqual(
      pipelines.map(({ actions }) => actions.length),
      [7, 7, 6],
    );
    for (const pipeline of pipelines) assert.ok(pipelineSize(pipeline).share <= 1);
    const sent = pipelines.flatMap(({ actions }) => actions.map((action) => 'toAddress' in action && action.toAddress));
    assert.deepEqual(sent, addresses);
    assert.deepEqual(JSON.parse(pipelines[0]?.payload ?? ''), {
      file: 'a.csv',
      sha256: file.sha256,
      lines: [2, 3, 4, 5, 6, 7, 8],
    });
  });
});
