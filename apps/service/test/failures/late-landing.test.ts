import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal, WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GateAnswer, type GatedWorld, interceptBundles, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';

describe('a bundle that lands during the second check, after it counted as lost,', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is detected: the batch continues, and tokens move once', WITH_BUNDLES, async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await tokenSupply(world, project.mint);
    let landLate: (() => Promise<GateAnswer>) | null = null;
    interceptBundles(world, 'execution', async (_wires, pass) => {
      landLate ??= pass;
      return result('0'.repeat(64));
    });
    world.gate.intercept('getInflightBundleStatuses', async ({ params: [ids] }) => {
      const [bundleId] = ids as readonly string[]; // the method's one parameter
      return result({ context: { slot: 1 }, value: [{ bundle_id: bundleId, status: 'Failed', landed_slot: null }] });
    });
    world.gate.intercept('simulateTransaction', async ({ params: [, config] }, pass) => {
      // Only the approval is simulated with its signatures.
      if (Object(config).sigVerify !== true || landLate === null) return pass();
      await landLate();
      await waitUntil(
        'the bundle to land',
        () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
        (seen) => seen.batch.executedTransactionIndex === 2,
      );
      const answer = await pass();
      world.gate.clear();
      return answer;
    });
    const { status, result: executed } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=30' }));
    assert.deepEqual([status, executed.totalSuccessful], ['EXECUTED', 2]);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });

  it(
    'is detected if only the approval lands, after the bundle expired: no new signature is needed, and tokens move once',
    onlyLocal('land a part of a bundle'),
    async () => {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
      const supply = await tokenSupply(world, project.mint);
      let landLate: (() => Promise<GateAnswer>) | null = null;
      interceptBundles(world, 'execution', async (_wires, pass) => {
        landLate ??= pass;
        await world.localnet.warp({ slots: 151n });
        return result('0'.repeat(64));
      });
      world.gate.intercept('simulateTransaction', async ({ params: [, config] }, pass) => {
        if (Object(config).sigVerify !== true || landLate === null) return pass();
        world.localnet.faults.set({ kind: 'partLand', method: 'sendBundle', landed: 1, times: 1 });
        await landLate();
        await waitUntil(
          'the approval to land',
          () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
          (seen) => seen.proposal.status === 'Approved',
        );
        const answer = await pass();
        world.gate.clear();
        return answer;
      });
      const { status, result: executed } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=30' }));
      assert.deepEqual([status, executed.totalSuccessful], ['EXECUTED', 2]);
      assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    },
  );
});

function result(value: unknown): GateAnswer {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: value }) };
}
