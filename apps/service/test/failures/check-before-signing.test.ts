import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { land, readBatchOnChain, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { onlyLocal, WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, holdBundles, interceptBundles, openGatedWorld } from '@flywheel/testing/gate';
import { createOwnMint, createSeizableMint, freeze, mintTo, seize } from '@flywheel/testing/mints';
import { createProject, requireOk } from '@flywheel/testing/project';
import { pauseSlots, resumeSlots } from '@flywheel/testing/slots';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { getThawAccountInstruction } from '@solana-program/token';

describe('a change between an accepted execute and the company’s signature', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it(
    'is detected: nothing is approved, the batch names it, and is executed once it is undone',
    WITH_BUNDLES,
    async () => {
      const mint = await createOwnMint(world, false);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      const vault: Address = address(project.vaultAddress);
      await mintTo(world, mint, vault, 5_000_000n);
      const recipient = (await generateKeyPairSigner()).address;
      const account = await mintTo(world, mint, recipient, 1n);
      // The batch is still being set up; its execution waits for that.
      const sending = holdBundles(world, 'setup');
      const batch = await openBatch(world, project, [burnPipeline(2), airdropPipeline(recipient, 3)]);
      await sending.reached;
      const asked = await executeSigned(world, project, batch, { prefer: 'wait=0' });
      assert.equal(asked.status, 202, JSON.stringify(asked.body));
      await freeze(world, mint, account);
      const supply = await tokenSupply(world, mint.address);
      sending.release();

      const stopped = await waitForBatch(
        world,
        project,
        batch.id,
        ({ executionError }) => executionError !== undefined,
      );
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
    },
  );

  it('names what the vault lacks, if the tokens leave between the reading of its balance and the simulation', async () => {
    const mint = await createSeizableMint(world);
    const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    const vault = address(project.vaultAddress);
    await mintTo(world, mint, vault, 5_000_000n);
    const batch = await setUpBatch(world, project, [burnPipeline(5)]);
    let seizure: Promise<unknown> | undefined;
    world.gate.intercept('simulateTransaction', async (_call, pass) => {
      seizure ??= seize(world, mint, vault, 5_000_000n);
      await seizure;
      return pass();
    });
    const refused = await executeSigned(world, project, batch);
    world.gate.clear();
    assertError(refused, 409, 'ERR_VAULT_UNDERFUNDED', /holds 0 tokens; this batch needs 5: 5 more/);
  });

  it('does not release the approval if its fee is what the operator lacks, which is paid a moment later', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    let refused = 0;
    world.gate.intercept('simulateTransaction', ({ params: [, config] }, pass) => {
      // Only the worker has all signatures.
      if (Object(config).sigVerify !== true || refused > 0) return pass();
      refused += 1;
      const value = { err: 'InsufficientFundsForFee', logs: [], unitsConsumed: 0 };
      const body = JSON.stringify({ jsonrpc: '2.0', id: '0', result: { context: { slot: 1_000_000_000 }, value } });
      return Promise.resolve({ status: 200, body });
    });
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    world.gate.clear();
    assert.deepEqual([status, refused], ['EXECUTED', 1]);
  });

  it(
    'is detected after a bundle was lost: the request is released only when the state that shows it is final',
    onlyLocal('stop the slots'),
    async () => {
      const mint = await createOwnMint(world, false);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, address(project.vaultAddress), 5_000_000n);
      const recipient = (await generateKeyPairSigner()).address;
      const account = await mintTo(world, mint, recipient, 1n);
      const batch = await setUpBatch(world, project, [airdropPipeline(recipient, 3)]);
      interceptBundles(world, 'execution', async () => {
        await freeze(world, mint, account);
        await world.localnet.warp({ slots: 200n });
        await pauseSlots(world);
        return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: '0'.repeat(64) }) };
      });
      const isWaiting = Promise.withResolvers<void>();
      let finalizedReads = 0;
      world.gate.intercept('getEpochInfo', (_call, pass) => {
        finalizedReads += 1;
        // The worker reads the finalized block again and again while it waits.
        if (finalizedReads === 10) isWaiting.resolve();
        return pass();
      });
      const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
      await Promise.race([isWaiting.promise, answer]);
      const bundles = world.db.selectFrom('bundles').select('state').where('batch_id', '=', batch.id);
      assert.deepEqual(await bundles.where('phase', '=', 'execution').execute(), [{ state: 'failed' }]);
      const held = world.db.selectFrom('batches').select(['signed_tx', 'execution_error']).where('id', '=', batch.id);
      const { signed_tx, execution_error } = await held.executeTakeFirstOrThrow();
      assert.deepEqual([signed_tx, execution_error], [batch.signedTx, null]);
      world.gate.clear();
      await resumeSlots(world);
      assertError(await answer, 409, 'ERR_BATCH_WOULD_FAIL', /frozen/);
    },
  );
});
