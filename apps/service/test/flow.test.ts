import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { airdropPipeline, burnPipeline, execute, getBatch, init } from '@flywheel/testing/client';
import { createProject, requireOk, signWith } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

describe('a batch, from pipelines to tokens moved', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  it('is compiled, approved by both, and executed', async () => {
    const project = await createProject(world);
    const recipient = await generateKeyPairSigner();
    const pipelines = [burnPipeline(5), airdropPipeline(recipient.address, 2.5), burnPipeline(1)];
    const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
    assert.equal(batch.status, 'AVAILABLE_TO_QUEUE');
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const executed = await execute(world.url, project.apiKey, batch.id, signedTx);
    assert.equal(executed.status, 200, JSON.stringify(executed.body));
    assert.equal(executed.body.status, 'EXECUTED');
    assert.equal(executed.body.result.totalSuccessful, 3);
    const read = requireOk(await getBatch(world.url, project.apiKey, batch.id));
    assert.deepEqual(read.executeResult, executed.body.result);
  });
});
