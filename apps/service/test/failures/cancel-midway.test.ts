import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { readBatchOnChain } from '@flywheel/testing/chain';
import { heavyBurnPipeline, send } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';

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
