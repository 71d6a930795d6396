import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { airdropPipeline, burnPipeline } from '../client.ts';
import { createOwnMint, freeze, mintTo } from '../mint.ts';
import { createProject, requireOk } from '../project.ts';
import { openWorld, type World } from '../world.ts';
import { executeSigned, readBatch, setUpBatch } from './batches.ts';
import { supplyOf } from './chain.ts';
import { ENGINES, fastForward, slowBundles, untilExecuted } from './slow-bundles.ts';

/** Of seven pipelines; the first bundle holds the approval and four. */
const [PIPELINES, IN_FIRST_BUNDLE, FAILING] = [7, 4, 5];

for (const engine of ENGINES) {
  describe(`the result of a batch whose second bundle fails, ${engine.name}`, () => {
    let world: World;
    before(async () => {
      world = await openWorld({ ...engine.environment });
    });
    after(() => world.stop());

    it('counts pipelines, names the positions, lists what landed, and stays as it is', async () => {
      const mint = await createOwnMint(world, false);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, address(project.vaultAddress), 100_000_000n);
      const recipient = (await generateKeyPairSigner()).address;
      const tokenAccount: Address = await mintTo(world, mint, recipient, 1n);
      const batch = await setUpBatch(
        world,
        project,
        Array.from({ length: PIPELINES }, (_, i) => (i === FAILING ? airdropPipeline(recipient) : burnPipeline())),
      );
      const supply = await supplyOf(world, mint.address);
      slowBundles(world, engine);
      const answering = executeSigned(world, project, batch);
      await untilExecuted(world, project, batch.batchIndex, IN_FIRST_BUNDLE);
      await freeze(world, mint, tokenAccount);
      world.localnet.faults.clear();
      const { status, result } = requireOk(await fastForward(world, answering));

      assert.equal(status, 'FAILED');
      const { successfulExecutions, failedTxMsg, ...counts } = result;
      assert.deepEqual(counts, {
        total: 7,
        totalSuccessful: 5,
        totalFailed: 2,
        failedOnTransactionIndex: 5,
        // An engine drops a bundle whole, so its pipelines are sent again one by one; RPC had landed its first.
        failedStartTransactionIndex: engine === ENGINES[0] ? 5 : 4,
      });
      // Error 17 of the token programs: the account is frozen.
      assert.match(failedTxMsg, /pipelines\[5\].*"Custom":17/);
      // The approval and five pipelines; without an engine each is an execution of its own.
      assert.deepEqual(
        successfulExecutions.map(({ txHashes }: { txHashes: readonly string[] }) => txHashes.length),
        engine === ENGINES[0] ? [5, 1] : [1, 1, 1, 1, 1, 1],
      );
      assert.equal(await supplyOf(world, mint.address), supply - 5_000_000n);

      for (const signedTx of [batch.signedTx, 'garbage']) {
        const { body } = await executeSigned(world, project, { id: batch.id, signedTx });
        assert.deepEqual([body.status, body.result], ['FAILED', result]);
      }
      assert.deepEqual((await readBatch(world, project, batch.id)).executeResult, result);
      assert.equal(await supplyOf(world, mint.address), supply - 5_000_000n);
    });
  });
}
