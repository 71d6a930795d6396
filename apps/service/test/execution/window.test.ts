import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, readBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { heavyBurnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { pauseSlots, resumeSlots } from '@flywheel/testing/slots';
import { openWorld, type World } from '@flywheel/testing/world';
import { findBundles } from '../../src/store/batches/bundles.ts';

/** More bundles than the window has at first. */
const MANY_PIPELINES = 45;

describe('a batch of many bundles', onlyLocal('stop the slots, and abandon blocks'), () => {
  let world: World;
  let project: TestProject;
  before(async () => {
    world = await openWorld({ JITO_BLOCK_ENGINE_URL: '' }, { slotMs: 10 });
    project = await createProject(world);
  });
  after(() => world.stop());

  it('is sent without waiting for confirmations, four bundles at first; all are executed once though a fork takes them away', async () => {
    const batch = await setUpBatch(world, project, Array.from({ length: MANY_PIPELINES }, heavyBurnPipeline));
    const supply = await tokenSupply(world, project.mint);
    await pauseSlots(world);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=120' });
    const sent = () => findBundles(world.db, batch.id, 'execution');
    const inFlight = await waitUntil('four bundles in flight', sent, ({ length }) => length === 4);
    assert.deepEqual(
      inFlight.map(({ state }) => state),
      ['sent', 'sent', 'sent', 'sent'],
    );
    // Each is sent when the one before is processed, so the first pipeline of each follows the last one's.
    const starts = inFlight.map(({ firstPipeline, pipelineCounts }) => [firstPipeline, sumOf(pipelineCounts)] as const);
    for (const [i, [start]] of starts.entries())
      assert.equal(start, sumOf(starts.slice(0, i).map(([, count]) => count)));

    world.localnet.fork();
    await resumeSlots(world);
    assert.equal(requireOk(await answer).status, 'EXECUTED');
    const { executeResult } = await readBatch(world, project, batch.id);
    assert.deepEqual([executeResult?.totalSuccessful, executeResult?.totalFailed], [MANY_PIPELINES, 0]);
    const burned = supply - (await tokenSupply(world, project.mint));
    assert.equal(burned, BigInt(MANY_PIPELINES) * 1_000_000n);
    assert.ok((await sent()).length > 4);
  });
});

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
