import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, waitForBatch } from '@flywheel/testing/batches';
import { land, readBatchOnChain, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, freeze, mintTo } from '@flywheel/testing/mints';
import { createProject, requireOk } from '@flywheel/testing/project';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { getThawAccountInstruction } from '@solana-program/token';

describe('a change between an accepted execute and the company’s signature', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is detected: nothing is approved, the batch names it, and is executed once it is undone', async () => {
    const mint = await createOwnMint(world, false);
    const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    const vault: Address = address(project.vaultAddress);
    await mintTo(world, mint, vault, 5_000_000n);
    const recipient = (await generateKeyPairSigner()).address;
    const account = await mintTo(world, mint, recipient, 1n);
    // The batch is still being set up; its execution waits for that.
    const sending = world.gate.hold('sendBundle');
    const batch = await openBatch(world, project, [burnPipeline(2), airdropPipeline(recipient, 3)]);
    await sending.reached;
    const asked = await executeSigned(world, project, batch, { prefer: 'wait=0' });
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    await freeze(world, mint, account);
    const supply = await tokenSupply(world, mint.address);
    sending.release();

    const stopped = await waitForBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
    assert.equal(stopped.status, 'FINALIZED');
    assert.equal(stopped.executionError?.code, 'ERR_BATCH_WOULD_FAIL');
    assert.match(stopped.executionError?.message ?? '', /pipelines\[1\]\.actions\[0\]\.toAddress: \w+ has a frozen/);
    const { proposal } = await readBatchOnChain(world, project, BigInt(stopped.batchIndex));
    assert.deepEqual([proposal.status, proposal.approved], ['Active', []]);
    assert.equal(await tokenSupply(world, mint.address), supply);

    await land(world, mint.authority, [
      getThawAccountInstruction({ account, mint: mint.address, owner: mint.authority }),
    ]);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    assert.equal(await tokenBalance(world, mint.address, recipient), 3_000_001n);
    assert.equal(await tokenSupply(world, mint.address), supply - 2_000_000n);
  });
});
