import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { DAY, NOW, newBundle, newPipeline, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import { initResultOf } from '../../src/batches/bundles/results.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import { end } from '../../src/batches/jobs/end.ts';
import { uncountUnexecuted } from '../../src/batches/terms.ts';
import type { Batch } from '../../src/model/batch.ts';
import { finalizeBatch, findBatch } from '../../src/store/batches/batches.ts';
import { insertBundle } from '../../src/store/batches/bundles.ts';
import { Cancelled, requireUncancelled } from '../../src/store/batches/cancellations.ts';
import { beginRun } from '../../src/store/batches/runs.ts';
import { countBatch, recordSetupDay } from '../../src/store/company/totals.ts';
import { readSignedUse } from '../../src/store/company/uses.ts';

const { db, poolConfig } = await openTestDatabase();
const jobs = await startTestJobs({ poolConfig });
after(() => jobs.stop());
await storeNonces(db, 5);

test('a setup that fails ends no batch whose execution has begun: its bundles may still land', async () => {
  const project = await storeProject(db);
  const failed = async ({ hasBegun }: { readonly hasBegun: boolean }) => {
    const totals = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
    const batch = await storeBatch(db, project, { pipelines: [newPipeline({ actions: [] })], totals });
    await finalizeBatch(db, batch.id, initResultOf(batch, { bundles: [], failedTxMsg: null }), NOW);
    if (hasBegun) await insertBundle(db, newBundle(batch, { phase: 'execution' }));
    const deps = {
      ...{ db, jobs, clock: realClock, log: quietLog },
      run: await beginRun(db, project.flywheel.id, 'setup'),
      chain: { signatureOutcomes: async () => ({ contextSlot: 1n, outcomes: ['unknown', 'unknown'] }) },
      // The other dependencies are those of sending.
    } as unknown as RunDeps;
    await end(deps, project, batch, { transition: 'SETUP_FAILED', executed: 0, failure: { failedTxMsg: 'It fails.' } });
    return (await findBatch(db, batch.id))?.status;
  };
  assert.equal(await failed({ hasBegun: false }), 'FAILED');
  assert.equal(await failed({ hasBegun: true }), 'FINALIZED');
});

test('an ended batch counts for its day if a bundle of its execution was sent: its approval never expires', async () => {
  const project = await storeProject(db);
  const located = (batch: Batch) => ({ multisig: project.flywheel.multisig.address, batchIndex: batch.batchIndex });
  const batch = await storeBatch(db, project);
  await finalizeBatch(db, batch.id, initResultOf(batch, { bundles: [], failedTxMsg: null }), NOW);
  await insertBundle(db, newBundle(batch, { phase: 'execution' }));
  await recordSetupDay(db, located(batch), DAY);
  await countBatch(db, located(batch), { burnBaseUnits: 7n, airdropBaseUnits: 0n }, null);
  const deps = { db, chain: { accounts: () => assert.fail('no account tells it') } } as unknown as RunDeps;
  assert.equal(await uncountUnexecuted(deps, project, batch), true);
  const { movedBaseUnits } = await readSignedUse(db, { ...located(batch), batchIndex: 0n }, DAY, []);
  assert.equal(movedBaseUnits, 7n);
});

test('an execution is stopped by a job that cancels its own batch, and by no other: nothing would enqueue it again', async () => {
  const project = await storeProject(db);
  const [batch, other] = [await storeBatch(db, project), await storeBatch(db, project)];
  const { id: flywheelId, multisig } = project.flywheel;
  const enqueue = (type: 'cancel' | 'close', { id: batchId }: Batch) =>
    jobs.enqueue(db, { type, batchId, multisig: multisig.address });
  const require = () => requireUncancelled(db, { flywheelId, batchId: batch.id });
  await enqueue('cancel', other);
  await enqueue('close', batch);
  await require();
  await enqueue('cancel', batch);
  await assert.rejects(require(), Cancelled);
  const isOwn = sql`data->>'batchId' = ${batch.id} and data->>'type' = 'cancel'`;
  await sql`update jobs.job set state = 'retry' where ${isOwn}`.execute(db);
  await assert.rejects(require(), Cancelled, 'also after the job has failed once');
});
