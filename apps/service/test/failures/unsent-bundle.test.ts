import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject } from '@flywheel/testing/project';

describe('a bundle that was recorded and never sent', WITH_BUNDLES, () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is sent by the next run of its job, in setup and execution', async () => {
    const project = await createProject(world);
    const setup = dropBundles();
    const batch = await openBatch(world, project, [burnPipeline(1)]);
    await setup;
    await restart();
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');

    const execution = dropBundles();
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    await execution;
    await Promise.all([restart(), answer]);
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.deepEqual(await countBundles(batch.id), { setup: 1, execution: 1 });
  });

  /** Resolves when the first bundle was dropped. */
  function dropBundles(): Promise<void> {
    const dropped = Promise.withResolvers<void>();
    world.gate.intercept('sendBundle', async () => {
      dropped.resolve();
      return 'hang up';
    });
    return dropped.promise;
  }

  /** The process ends before its retries can reach the block engine. */
  async function restart(): Promise<void> {
    await world.app.stop();
    world.gate.clear();
    await world.restart(world.gate.environment);
  }

  async function countBundles(batchId: string): Promise<Record<string, number>> {
    const rows = await world.db
      .selectFrom('bundles')
      .select(({ fn }) => ['phase', fn.countAll<bigint>().as('count')])
      .where('batch_id', '=', batchId)
      .where('phase', '!=', 'close')
      .groupBy('phase')
      .execute();
    return Object.fromEntries(rows.map(({ phase, count }) => [phase, Number(count)]));
  }
});
