import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pipelineSize } from '@flywheel/sdk';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { type AirdropPlan, keyOfPart, planAirdrop } from '../src/commands/airdrop/plan.ts';

const [{ address: ALICE }, { address: BOB }] = [await generateKeyPairSigner(), await generateKeyPairSigner()];

describe('planAirdrop', () => {
  const plan = (rows: readonly Address[], { round = '', run = 1 } = {}) =>
    planAirdrop(
      rows.map((address) => ({ address, amount: '1' })),
      { type: 'SEASON', round, run, token: {}, pipelinesPerBatch: 2 },
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

  it('derives the same keys from the same rows, type, round, run and rest, and different keys otherwise', async () => {
    const keyOf = ({ parts, identity }: AirdropPlan, rest = 0) => keyOfPart(parts[0] ?? [], identity, rest);
    const same = await keyOf(plan([ALICE, BOB]));
    assert.equal(await keyOf(plan([ALICE, BOB])), same);
    const others = await Promise.all([
      keyOf(plan([BOB, ALICE])),
      keyOf(plan([ALICE, BOB], { round: 'two' })),
      keyOf(plan([ALICE, BOB], { run: 2 })),
      keyOf(plan([ALICE, BOB]), 1),
    ]);
    assert.equal(new Set([same, ...others]).size, 5);
  });

  it('changes the key of the last batch only when rows are appended', async () => {
    const addresses = await Promise.all(
      Array.from({ length: 41 }, async () => (await generateKeyPairSigner()).address),
    );
    const keysOf = ({ parts, identity }: AirdropPlan) => Promise.all(parts.map((part) => keyOfPart(part, identity, 0)));
    const [before, after] = [await keysOf(plan(addresses.slice(0, 40))), await keysOf(plan(addresses))];
    assert.ok(before.length > 2);
    assert.equal(after.length, before.length);
    assert.deepEqual(after.slice(0, -1), before.slice(0, -1));
    assert.notEqual(after.at(-1), before.at(-1));
  });
});
