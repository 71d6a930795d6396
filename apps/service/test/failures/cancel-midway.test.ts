import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  executeSigned,
  type OpenBatch,
  openBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { readBatchOnChain } from '@flywheel/testing/chain';
import { burnPipeline, heavyBurnPipeline, send } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, holdSigned, openGatedWorld } from '@flywheel/testing/gate';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { findJobs } from '../../src/store/jobs/job-records.ts';

/** More than two bundles hold: the bundle in flight when the batch is cancelled is not the last. */
const PIPELINES = 36;

// apps/console/test/stories/failed-batch.test.ts cancels one over RPC.
const [engine] = ENGINES;

describe(`a batch that is cancelled while it executes, ${engine.name}`, engine.options, () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld(engine.environment);
  });
  after(() => world.stop());

  it('ends after the bundle in flight, with what was executed by then', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, Array.from({ length: PIPELINES }, heavyBurnPipeline));
    const hold = holdSends(world, engine, project, batch.batchIndex);
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    await hold.reached;
    const path = `/v1/flywheel/batch/${batch.id}/cancel`;
    const cancelled = send(world.url, 'POST', path, { key: project.apiKey, headers: { prefer: 'wait=60' }, body: {} });
    const isAsked = () => countOpenJobs(world, 'cancel', batch.id);
    await waitUntil('the cancellation', isAsked, (count) => count > 0);
    hold.release();
    const { status, cancelTx } = requireOk(await cancelled);
    assert.equal(status, 'FAILED');
    assert.ok(cancelTx, 'the wallet votes to cancel what was approved');
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
    const { batch: onChain } = await readBatchOnChain(world, project, batch.batchIndex);
    const executed = onChain.executedTransactionIndex;
    assert.ok(executed > 0 && executed < PIPELINES, `${executed} executed`);
    assert.equal(executeResult?.totalSuccessful, executed);
  });
});

describe('a batch that is cancelled while a job is about to send for it', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('fails no setup, and holds up no batch behind it', async () => {
    const project = await createProject(world);
    const hold = world.gate.hold('getLatestBlockhash');
    const batch = await openBatch(world, project, [burnPipeline()]);
    await hold.reached;
    const next = await openBatch(world, project, [burnPipeline()]);
    requireOk(await cancel(project, batch));
    hold.release();
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    assert.deepEqual(await findTroubles(batch), []);
    assert.deepEqual(await findTroubles(next), []);
  });

  it('fails no execution', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const signed = holdSigned(world);
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    await signed.reached;
    requireOk(await cancel(project, batch));
    signed.release();
    await waitUntil(
      'the end of the execution',
      () => countOpenJobs(world, 'execute', batch.id),
      (count) => count === 0,
    );
    assert.deepEqual(await findTroubles(batch), []);
  });

  function cancel({ apiKey: key }: TestProject, { id }: OpenBatch) {
    return send(world.url, 'POST', `/v1/flywheel/batch/${id}/cancel`, { key, body: {} });
  }

  /** Lists the jobs of a batch that have failed, and the events that say that it is held up. */
  async function findTroubles({ id }: OpenBatch) {
    const jobs = await findJobs(world.db, { withCompleted: true });
    const failed = jobs.filter(({ batchId, failedAttempts }) => batchId === id && failedAttempts > 0);
    const events = world.db.selectFrom('batch_events').select('data').where('batch_id', '=', id);
    return [...failed, ...(await events.where('type', '=', 'batch.held_up').execute())];
  }
});
