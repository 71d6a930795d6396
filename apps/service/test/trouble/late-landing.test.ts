import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burnPipeline } from '../client.ts';
import { executeSigned, setUpBatch, until } from '../execution/batches.ts';
import { readBatchOnChain, supplyOf } from '../execution/chain.ts';
import { createProject, requireOk } from '../project.ts';
import { type GateAnswer, type GatedWorld, openGatedWorld } from './gate.ts';

describe('a bundle that an engine has given up, and that lands while the approval is checked once more', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is recognised: the batch goes on by itself, and tokens move once', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await supplyOf(world, project.mint);
    let landLate: (() => Promise<GateAnswer>) | null = null;
    world.gate.treat('sendBundle', async (_call, pass) => {
      landLate ??= pass;
      return result('0'.repeat(64));
    });
    world.gate.treat('getInflightBundleStatuses', async ({ params: [ids] }) => {
      const [bundleId] = ids as readonly string[]; // the method's one parameter
      return result({ context: { slot: 1 }, value: [{ bundle_id: bundleId, status: 'Failed', landed_slot: null }] });
    });
    world.gate.treat('simulateTransaction', async ({ params: [, config] }, pass) => {
      // The approval is the one transaction that is simulated with its signatures.
      if (Object(config).sigVerify !== true || landLate === null) return pass();
      await landLate();
      await until(
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
    assert.equal(await supplyOf(world, project.mint), supply - 3_000_000n);
  });
});

describe('an approval that lands alone when its bundle has expired, while it is checked once more', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is recognised: nobody is asked to sign again, and tokens move once', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await supplyOf(world, project.mint);
    let landLate: (() => Promise<GateAnswer>) | null = null;
    world.gate.treat('sendBundle', async (_call, pass) => {
      landLate ??= pass;
      await world.localnet.warp({ slots: 151n });
      return result('0'.repeat(64));
    });
    world.gate.treat('simulateTransaction', async ({ params: [, config] }, pass) => {
      if (Object(config).sigVerify !== true || landLate === null) return pass();
      world.localnet.faults.set({ kind: 'partLand', method: 'sendBundle', landed: 1, times: 1 });
      await landLate();
      await until(
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
    assert.equal(await supplyOf(world, project.mint), supply - 3_000_000n);
  });
});

function result(value: unknown): GateAnswer {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: value }) };
}
