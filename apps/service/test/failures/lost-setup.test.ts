import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { executeSigned, setUpBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { findBundles } from '../../src/store/batches/bundles.ts';

let world: World;
before(async () => {
  // Slots as long as on a cluster: a blockhash lives for a minute.
  world = await openWorld({}, { slotMs: 400 });
});
after(() => world.stop());

it('a bundle of the setup that was lost holds up no execution', onlyLocal('lose a bundle'), async () => {
  const project = await createProject(world);
  world.localnet.faults.set({ kind: 'partLand', method: 'sendBundle', landed: 0, times: 1 });
  const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
  const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=120' }));
  assert.equal(status, 'EXECUTED');
  const setup = await findBundles(world.db, batch.id, 'setup');
  // The first one can still land until its blockhash has expired, and then fails, because the batch is there.
  assert.deepEqual(
    setup.map(({ state }) => state),
    ['sent', 'landed'],
  );
});
