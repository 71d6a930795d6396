import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { executeSigned, openBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';

const BATCHES_EACH = 3;

describe('a block engine that accepts one request a second', onlyLocal('limit and lose requests'), () => {
  let world: World;
  before(async () => {
    // Blockhashes live for half a minute, much longer than a repetition takes.
    const options = { slotMs: 200, engineRequestsPerSecond: 1 };
    world = await openWorld({ BLOCK_ENGINE_REQUESTS_PER_SECOND: '1' }, options);
  });
  after(() => world.stop());

  it('is shared by the batches of several projects in turn, and has next to nothing to refuse', async () => {
    const projects = await Promise.all([createProject(world), createProject(world), createProject(world)]);
    const batches = await Promise.all(
      projects.flatMap((project) =>
        Array.from({ length: BATCHES_EACH }, async () => ({
          project,
          ...(await openBatch(world, project, [burnPipeline()])),
        })),
      ),
    );
    for (const { project, id } of batches) {
      await waitForBatch(world, project, id, ({ status }) => status === 'FINALIZED');
    }
    const order = await readSetups();
    assert.equal(order.length, projects.length * BATCHES_EACH);
    // On a busy machine the next setup of a project may not be ready when its turn comes. It is not left behind twice.
    const served = new Map(projects.map(({ flywheelId }) => [flywheelId, 0]));
    for (const flywheelId of order) {
      served.set(flywheelId, (served.get(flywheelId) ?? 0) + 1);
      const counts = [...served.values()];
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 2, order.join(', '));
    }
    assert.equal(new Set(order.slice(0, projects.length)).size, projects.length, order.join(', '));
    const { accepted, refused } = await readRequests();
    assert.ok(accepted > order.length);
    // One that was late on its way arrives just before the next one.
    assert.ok(refused <= accepted / 5, `${refused} of ${accepted} are refused`);
  });

  it('that forgets a bundle gets it again as it was before its blockhash expires, also while other bundles wait', async () => {
    const projects = await Promise.all([createProject(world), createProject(world), createProject(world)]);
    world.localnet.faults.set({ kind: 'drop', method: 'sendBundle', times: 1 });
    const opened = await Promise.all(projects.map((project) => openBatch(world, project, [burnPipeline()])));
    for (const [i, project] of projects.entries()) {
      await waitForBatch(world, project, opened[i]?.id ?? '', ({ status }) => status === 'FINALIZED');
    }
    const [project] = projects;
    const [batch] = opened;
    assert.ok(project && batch);
    world.localnet.faults.set({ kind: 'drop', method: 'sendBundle', times: 1 });
    assert.equal(requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' })).status, 'EXECUTED');
    const landed = (phase: string) => ({ phase, state: 'landed' });
    assert.deepEqual(await readBundles(projects), [...projects.map(() => landed('setup')), landed('execution')]);
  });

  /** The projects whose setups were sent, in their order. */
  async function readSetups(): Promise<string[]> {
    const rows = await world.db
      .selectFrom('bundles')
      .innerJoin('batches', 'batches.id', 'bundles.batch_id')
      .select('batches.flywheel_id')
      .where('phase', '=', 'setup')
      .orderBy('bundles.id')
      .execute();
    return rows.map(({ flywheel_id }) => flywheel_id);
  }

  function readBundles(projects: readonly TestProject[]) {
    return world.db
      .selectFrom('bundles')
      .innerJoin('batches', 'batches.id', 'bundles.batch_id')
      .select(['phase', 'state'])
      .where(
        'batches.flywheel_id',
        'in',
        projects.map(({ flywheelId }) => flywheelId),
      )
      .where('phase', '!=', 'close')
      .orderBy('bundles.id')
      .execute();
  }

  async function readRequests(): Promise<{ readonly accepted: number; readonly refused: number }> {
    const count = await callRpc(createRpcTransport({ url: world.localnet.url }), 'localnet_engineRequests');
    return count as { accepted: number; refused: number }; // the shape of the method's answer
  }
});
