import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pipelineSize } from '@flywheel/sdk';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { keyOfPart, planAirdrop } from '../src/commands/airdrop/plan.ts';

const [{ address: ALICE }, { address: BOB }] = [await generateKeyPairSigner(), await generateKeyPairSigner()];

describe('planAirdrop', () => {
  const plan = (rows: readonly Address[], round = '') =>
    planAirdrop(
      rows.map((address) => ({ address, amount: '1' })),
      { type: 'SEASON', round, token: {}, pipelinesPerBatch: 2 },
    );

  it('packs every row once, in order, into pipelines of a valid size and batches of the maximum size', async () => {
    const addresses = await Promise.all(
      Array.from({ length: 40 }, async () => (await generateKeyPairSigner()).address),
    );
    const { parts } = plan(addresses);
    const planned = parts.flat();
    assert.deepEqual(
      planned.flatMap(({ rows }) => rows),
      addresses.map((_, i) => i),
    );
    assert.deepEqual(
      planned.flatMap(({ pipeline }) => pipeline.actions.map((action) => 'toAddress' in action && action.toAddress)),
      addresses,
    );
    assert.ok(planned.every(({ pipeline }) => pipelineSize(pipeline).share <= 1));
    assert.ok(parts.every((part, i) => part.length === 2 || i === parts.length - 1));
    assert.ok(parts.length > 2);
  });

  it('derives the same keys from the same rows, type, round, batch and attempt, and different keys otherwise', async () => {
    const { identity } = plan([ALICE, BOB]);
    const same = await keyOfPart(plan([ALICE, BOB]).identity, 0, 0);
    assert.equal(await keyOfPart(identity, 0, 0), same);
    assert.match(same, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const others = await Promise.all([
      keyOfPart(plan([BOB, ALICE]).identity, 0, 0),
      keyOfPart(plan([ALICE, BOB], 'two').identity, 0, 0),
      keyOfPart({ ...identity, type: 'OTHER' }, 0, 0),
      keyOfPart(identity, 1, 0),
      keyOfPart(identity, 0, 1),
    ]);
    assert.equal(new Set([same, ...others]).size, 6);
  });
});
