import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { executeSigned, openBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { dropBundle, type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { skipRetryDelays } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';
import { findBundles } from '../../src/store/batches/bundles.ts';

let world: GatedWorld;
before(async () => {
  // Slots as long as on a cluster: a blockhash lives for a minute.
  world = await openGatedWorld({}, { slotMs: 400 });
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

it(
  'each bundle that uses up the index of a cancelled batch, and is lost, doubles the tip of the next',
  onlyLocal('lose a bundle'),
  async () => {
    const project = await createProject(world);
    const hold = world.gate.hold('getLatestBlockhash');
    const dead = await openBatch(world, project, [burnPipeline()]);
    await hold.reached;
    const next = await openBatch(world, project, [burnPipeline()]);
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${dead.id}/cancel`, { key: project.apiKey, body: {} }));
    let drops = 0;
    world.gate.intercept('sendBundle', async (_call, pass) => {
      drops += 1;
      return drops <= 2 ? dropBundle(world.localnet) : pass();
    });
    hold.release();
    const skipping = new AbortController();
    const skipped = skipRetryDelays(world, skipping.signal);
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    skipping.abort();
    await skipped;
    world.gate.clear();
    const tips = (await findBundles(world.db, dead.id, 'close')).map(({ tipLamports }) => tipLamports);
    assert.ok(tips.length > 1 && tips[0] !== undefined);
    assert.deepEqual(
      tips,
      tips.map((_, attempt) => (tips[0] ?? 0n) * 2n ** BigInt(attempt)),
    );
  },
);
