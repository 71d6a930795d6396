import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, readBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { heavyBurnPipeline } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { findJobIds, makeDue } from '@flywheel/testing/jobs';
import { createSeizableMint, mintTo, seize } from '@flywheel/testing/mints';
import { createProject, requireOk } from '@flywheel/testing/project';
import { address } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { findLedgerEntries } from '../../src/store/batches/ledger.ts';

/** More pipelines than one bundle holds. */
const PIPELINES = 20n;
const ONE_TOKEN = 1_000_000n;

for (const engine of ENGINES) {
  describe(`a vault that lacks tokens in the middle of an execution, ${engine.name}`, engine.options, () => {
    let world: GatedWorld;
    before(async () => {
      world = await openGatedWorld(engine.environment);
    });
    after(() => world.stop());

    const operatorLamports = async () => (await world.rpc.getBalance(world.operator.address).send()).value;

    it('keeps the batch FINALIZED with what is missing, spends nothing meanwhile, and the batch continues after a deposit', async () => {
      const mint = await createSeizableMint(world);
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      const vault = address(project.vaultAddress);
      await mintTo(world, mint, vault, PIPELINES * ONE_TOKEN);
      const pipelines = Array.from({ length: Number(PIPELINES) }, heavyBurnPipeline);
      const batch = await setUpBatch(world, project, pipelines);
      const hold = holdSends(world, engine, project, batch.batchIndex);
      const { status } = await executeSigned(world, project, batch, { prefer: 'wait=0' });
      assert.equal(status, 202);
      const executed = BigInt(await hold.reached);
      const missing = PIPELINES - executed - 1n;
      assert.ok(missing > 0n, `${executed} executed`);
      // The remaining balance pays one more pipeline.
      await seize(world, mint, vault, missing * ONE_TOKEN);
      hold.release();

      const stuck = await waitForBatch(world, project, batch.id, (seen) => seen.executionError !== undefined);
      assert.equal(stuck.status, 'FINALIZED');
      assert.equal('executeResult' in stuck, false);
      assert.equal(stuck.executionError?.code, 'ERR_VAULT_UNDERFUNDED', JSON.stringify(stuck));
      assert.match(stuck.executionError?.message ?? '', new RegExp(`${vault} holds 0 tokens.* ${missing} more`));
      assert.equal(await tokenBalance(world, mint.address, vault), 0n);
      const supply = await tokenSupply(world, mint.address);

      const charged = await findLedgerEntries(world.db, batch.id);
      assert.ok(
        charged.some(({ phase }) => phase === 'execution'),
        'what was spent is charged before the batch ends',
      );
      const sent = (await findBundles(world.db, batch.id)).length;
      const balance = await operatorLamports();
      const postponed = await findJobIds(world, 'execute', batch.id);
      await makeDue(world, 'execute', batch.id);
      await waitUntil(
        'the next attempt',
        () => findJobIds(world, 'execute', batch.id),
        (ids) => ids.length > 0 && !ids.some((id) => postponed.includes(id)),
      );
      assert.equal((await findBundles(world.db, batch.id)).length, sent, 'an attempt without tokens sends nothing');
      assert.equal(await operatorLamports(), balance);

      // A repeated request joins the execution: it neither restarts it nor reads its signedTx.
      const joined = await executeSigned(world, project, { id: batch.id, signedTx: 'garbage' }, { prefer: 'wait=0' });
      assert.deepEqual([joined.status, joined.body.status], [202, 'FINALIZED']);

      await mintTo(world, mint, vault, (missing + 1n) * ONE_TOKEN);
      await makeDue(world, 'execute', batch.id);
      const { status: ended, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.deepEqual([ended, result.totalSuccessful, result.totalFailed], ['EXECUTED', Number(PIPELINES), 0]);
      assert.equal('executionError' in (await readBatch(world, project, batch.id)), false);
      assert.equal(await tokenBalance(world, mint.address, vault), ONE_TOKEN);
      assert.equal(await tokenSupply(world, mint.address), supply + ONE_TOKEN);
    });
  });
}

it('a pipeline that failed for lack of tokens is executed again if these arrive before the vault is read', async () => {
  const world = await openGatedWorld({ JITO_BLOCK_ENGINE_URL: '' });
  try {
    const mint = await createSeizableMint(world);
    const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    const vault = address(project.vaultAddress);
    await mintTo(world, mint, vault, PIPELINES * ONE_TOKEN);
    const batch = await setUpBatch(world, project, Array.from({ length: Number(PIPELINES) }, heavyBurnPipeline));
    const [, rpc] = ENGINES;
    const hold = holdSends(world, rpc, project, batch.batchIndex);
    await executeSigned(world, project, batch, { prefer: 'wait=0' });
    const missing = PIPELINES - BigInt(await hold.reached);
    await seize(world, mint, vault, missing * ONE_TOKEN);
    // The worker reads the logs of the transaction that failed, and then what the vault lacks.
    let deposits = 0;
    world.gate.intercept('getTransaction', async (_call, pass) => {
      const answer = await pass();
      if (JSON.parse(answer.body).result?.meta.err && deposits === 0) {
        deposits += 1;
        await mintTo(world, mint, vault, missing * ONE_TOKEN);
      }
      return answer;
    });
    hold.release();
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.deepEqual([status, result.totalSuccessful, deposits], ['EXECUTED', Number(PIPELINES), 1]);
  } finally {
    await world.stop();
  }
});
