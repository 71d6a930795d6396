import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GateAnswer, type GatedWorld, interceptBundles, openGatedWorld } from '@flywheel/testing/gate';
import { clearJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';
import { resumeSlots, setUpAndPause } from '@flywheel/testing/slots';

describe('a bundle that was recorded and not sent', WITH_BUNDLES, () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('is sent by the next run of its job, in setup and execution', async () => {
    const project = await createProject(world);
    const setup = dropBundles('setup');
    const batch = await openBatch(world, project, [burnPipeline(1)]);
    await setup;
    await restart();
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');

    const execution = dropBundles('execution');
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    await execution;
    await Promise.all([restart(), answer]);
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.deepEqual(await countBundles(batch.id), { setup: 1, execution: 1 });
  });

  it('is sent when the client repeats its request, if the job of the execution was lost', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    const dropped = dropBundles('execution');
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    await dropped;
    await world.app.stop();
    await clearJobs(world.db);
    await restart();
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
  });

  it('is waited for by a cancellation, and counts if it lands late', async () => {
    const project = await createProject(world);
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    const dropped = dropBundles('execution');
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    const landLate = await dropped;
    assert.deepEqual(await countBundles(batch.id), { setup: 1, execution: 1 }, 'it is recorded before it is sent');
    await world.app.stop();
    // No run of the execution comes before the cancellation.
    await clearJobs(world.db);
    await restart();

    let reads = 0;
    world.gate.intercept('getSignatureStatuses', (_call, pass) => {
      reads += 1;
      return pass();
    });
    const path = `/v1/flywheel/batch/${batch.id}/cancel`;
    await send(world.url, 'POST', path, { key: project.apiKey, headers: { prefer: 'wait=0' }, body: {} });
    const readStatus = () =>
      world.db.selectFrom('batches').select('status').where('id', '=', batch.id).executeTakeFirstOrThrow();
    await waitUntil('the cancellation to wait', readStatus, ({ status }) => reads >= 3 || status === 'FAILED');
    assert.equal((await readStatus()).status, 'FINALIZED');
    await landLate();
    await resumeSlots(world);
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('is waited for before the index of its cancelled batch is burned, and makes that needless if it lands', async () => {
    const project = await createProject(world);
    const dropped = dropBundles('setup');
    const cancelled = await openBatch(world, project, [burnPipeline(1)]);
    const landLate = await dropped;
    await world.app.stop();
    await clearJobs(world.db);
    await restart();
    const path = `/v1/flywheel/batch/${cancelled.id}/cancel`;
    await send(world.url, 'POST', path, { key: project.apiKey, body: {} });
    const next = await openBatch(world, project, [burnPipeline(1)]);
    let reads = 0;
    world.gate.intercept('getSignatureStatuses', (_call, pass) => {
      reads += 1;
      return pass();
    });
    const readBundles = () =>
      world.db
        .selectFrom('bundles')
        .select(['phase', 'state'])
        .where('batch_id', '=', cancelled.id)
        .orderBy('id')
        .execute();
    await waitUntil('the setup behind it to wait', readBundles, (bundles) => reads >= 20 || bundles.length > 1);
    assert.deepEqual(await readBundles(), [{ phase: 'setup', state: 'sent' }]);
    await landLate();
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    const [setup] = await readBundles();
    assert.equal(setup?.state, 'landed');
    assert.equal((await executeSigned(world, project, next, { prefer: 'wait=60' })).status, 200);
  });

  /** Resolves when the first bundle of a phase was dropped, with a function that lets it arrive after all. */
  function dropBundles(phase: 'setup' | 'execution'): Promise<() => Promise<GateAnswer>> {
    const dropped = Promise.withResolvers<() => Promise<GateAnswer>>();
    interceptBundles(world, phase, async (_wires, pass) => {
      dropped.resolve(pass);
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
