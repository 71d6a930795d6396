import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, setUpBatch } from '@flywheel/testing/batches';
import { burnPipeline, execute, getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';

let world: World;
let project: TestProject;
before(async () => {
  world = await openWorld();
  project = await createProject(world);
});
after(() => world.stop());

describe('GET /v1/flywheel/batch/{batchId}', () => {
  it('answers exactly the fields of the interface, each from its status on', async () => {
    const { id, proposalApproveTx } = await setUpBatch(world, project, [burnPipeline()]);
    const batch = requireOk(await getBatch(world.url, project.apiKey, id));
    const always = [
      'id',
      'flywheelId',
      'tokenId',
      'mintAddress',
      'status',
      'batchIndex',
      'vaultIndex',
      'multisig',
      'vaultAddress',
    ];
    const times = ['dateCreated', 'dateUpdated'];
    assert.deepEqual(Object.keys(batch).toSorted(), [...always, ...times, 'initResult'].toSorted());
    const { flywheelId, tokenId, mintAddress, multisig, vaultAddress } = project;
    assert.deepEqual(
      {
        flywheelId,
        tokenId,
        mintAddress,
        multisig,
        vaultAddress,
        batchIndex: '1',
        vaultIndex: '0',
        status: 'FINALIZED',
      },
      Object.fromEntries(Object.entries(batch).filter(([name]) => always.includes(name) && name !== 'id')),
    );
    assert.deepEqual(Object.keys(batch.initResult).toSorted(), [
      'batchIndex',
      'successfulExecutions',
      'total',
      'totalFailed',
      'totalSuccessful',
    ]);
    assert.equal(batch.initResult.batchIndex, 1);
    for (const name of times) assert.equal(new Date(batch[name]).toISOString(), batch[name]);

    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const { result } = requireOk(await execute(world.url, project.apiKey, id, signedTx));
    const ended = requireOk(await getBatch(world.url, project.apiKey, id.toUpperCase()));
    assert.deepEqual(ended.executeResult, result);
    assert.equal(ended.status, 'EXECUTED');
  });

  it('adds the requested parts', async () => {
    const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
    const read = requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=pipelines,approval,ledger'));
    assert.deepEqual(read.pipelines, batch.pipelines);
    assert.equal(read.proposalApproveTx, proposalApproveTx);
    assert.equal(read.ledger.isComplete, false);
    const { status, body } = await getBatch(world.url, project.apiKey, batch.id, '?include=everything');
    assert.deepEqual([status, body.error], [400, 'ERR_INVALID_REQUEST']);
  });

  it('answers 404 for an unknown id and 400 for an invalid UUID', async () => {
    assertError(await getBatch(world.url, project.apiKey, randomUUID()), 404, 'ERR_BATCH_NOT_FOUND');
    assertError(await getBatch(world.url, project.apiKey, 'nothing'), 400, 'ERR_INVALID_REQUEST', /batchId/);
  });
});

describe('GET /v1/flywheel/batch/current', () => {
  it('answers null, then the newest open batch; the newest that ended within 30 s only if none is open', async () => {
    const own = await createProject(world);
    const current = async () => requireOk(await getCurrent(world.url, own.apiKey));
    assert.equal(await current(), null);
    const older = await setUpBatch(world, own, [burnPipeline()]);
    const newer = await setUpBatch(world, own, [burnPipeline()]);
    assert.equal((await current()).id, newer.id);
    requireOk(await execute(world.url, own.apiKey, newer.id, newer.signedTx));
    assert.equal((await current()).id, older.id);
    requireOk(await execute(world.url, own.apiKey, older.id, older.signedTx));
    assert.equal((await current()).id, newer.id, 'the newest, not the last to end');
    const past = new Date(Date.now() - 31_000);
    await world.db.updateTable('batches').set({ ended_at: past }).where('project_id', '=', own.projectId).execute();
    assert.equal(await current(), null);
  });

  it('answers ERR_BATCH_CURRENT_FAILED if it cannot be read', async () => {
    await world.db.schema.alterTable('batches').renameTo('batches_gone').execute();
    const failed = await getCurrent(world.url, project.apiKey);
    await world.db.schema.alterTable('batches_gone').renameTo('batches').execute();
    assertError(failed, 500, 'ERR_BATCH_CURRENT_FAILED');
  });
});

describe('another tenant', () => {
  it('cannot distinguish another project’s batch from one that does not exist', async () => {
    const other = await createProject(world);
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline()]);
    const nowhere = randomUUID();
    const asked = (batchId: string) => [
      getBatch(world.url, other.apiKey, batchId),
      getBatch(world.url, other.apiKey, batchId, '?include=pipelines,approval,ledger'),
      execute(world.url, other.apiKey, batchId, signedTx),
      send(world.url, 'POST', `/v1/flywheel/batch/${batchId}/cancel`, { key: other.apiKey, body: {} }),
    ];
    const [ofTheirs, ofNone] = await Promise.all([Promise.all(asked(id)), Promise.all(asked(nowhere))]);
    for (const [i, { status, body }] of ofTheirs.entries()) {
      assert.deepEqual([status, body.error], [404, 'ERR_BATCH_NOT_FOUND']);
      assert.equal(JSON.stringify(body).replace(id, ''), JSON.stringify(ofNone[i]?.body).replace(nowhere, ''));
    }
    assert.equal(requireOk(await getCurrent(world.url, other.apiKey)), null);
    const { batches } = requireOk(await send(world.url, 'GET', '/v1/flywheel/batches', { key: other.apiKey }));
    assert.deepEqual(batches, []);
    requireOk(await execute(world.url, project.apiKey, id, signedTx));
  });
});
