import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { address } from '@solana/kit';
import { sql } from 'kysely';
import { burnPipeline } from '../client.ts';
import { mintTo } from '../mint.ts';
import { createProject, requireOk } from '../project.ts';
import { openWorld, type World } from '../world.ts';
import { executeSigned, readBatch, setUpBatch, untilBatch } from './batches.ts';
import { supplyOf, tokensOf } from './chain.ts';
import { createSeizableMint, seize } from './seizable-mint.ts';
import { ENGINES, fastForward, slowBundles, untilExecuted } from './slow-bundles.ts';

for (const engine of ENGINES) {
  describe(`a vault that runs dry in the middle of an execution, ${engine.name}`, () => {
    let world: World;
    before(async () => {
      world = await openWorld({ ...engine.environment });
    });
    after(() => world.stop());

    it('keeps the batch FINALIZED, says what is missing, and lets it go on by itself after a deposit', async () => {
      const mint = await createSeizableMint(world);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      const vault = address(project.vaultAddress);
      await mintTo(world, mint, vault, 7_000_000n);
      const batch = await setUpBatch(
        world,
        project,
        Array.from({ length: 7 }, () => burnPipeline()),
      );
      slowBundles(world, engine);
      const { status } = await executeSigned(world, project, batch, { prefer: 'wait=0' });
      assert.equal(status, 202);
      // Four pipelines share the first bundle with the approval; one more can be paid for after this.
      await untilExecuted(world, project, batch.batchIndex, 4);
      await seize(world, mint, vault, 2_000_000n);
      world.localnet.faults.clear();

      const stuck = await fastForward(
        world,
        untilBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined),
      );
      assert.equal(stuck.status, 'FINALIZED');
      assert.equal('executeResult' in stuck, false);
      assert.equal(stuck.executionError?.code, 'ERR_VAULT_UNDERFUNDED');
      assert.match(stuck.executionError?.message ?? '', new RegExp(`${vault} holds 0 tokens.* 2 more`));
      assert.equal(await tokensOf(world, mint.address, vault), 0n);
      const supply = await supplyOf(world, mint.address);

      // A repeat joins: it neither starts anything over nor looks at its signedTx.
      const joined = await executeSigned(world, project, { id: batch.id, signedTx: 'garbage' }, { prefer: 'wait=0' });
      assert.deepEqual([joined.status, joined.body.status], [202, 'FINALIZED']);

      await mintTo(world, mint, vault, 3_000_000n);
      await tryAgainNow(batch.id);
      const { status: ended, result } = requireOk(await executeSigned(world, project, batch));
      assert.deepEqual([ended, result.totalSuccessful, result.totalFailed], ['EXECUTED', 7, 0]);
      assert.equal('executionError' in (await readBatch(world, project, batch.id)), false);
      assert.equal(await tokensOf(world, mint.address, vault), 1_000_000n);
      assert.equal(await supplyOf(world, mint.address), supply + 3_000_000n - 2_000_000n);
    });

    /** The next try is some seconds away: nobody needs to wait for it here. */
    async function tryAgainNow(batchId: string): Promise<void> {
      await sql`
        update jobs.job set start_after = now()
        where data->>'batchId' = ${batchId} and data->>'type' = 'execute' and start_after > now()
      `.execute(world.db);
    }
  });
}
