import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { NOW, newBundle, newPipeline, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { initResultOf } from '../../src/batches/bundles/results.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import { end } from '../../src/batches/jobs/end.ts';
import { finalizeBatch, findBatch } from '../../src/store/batches/batches.ts';
import { insertBundle } from '../../src/store/batches/bundles.ts';
import { beginRun } from '../../src/store/batches/runs.ts';

const { db, poolConfig } = await openTestDatabase();
const jobs = await startTestJobs({ poolConfig });
after(() => jobs.stop());
await storeNonces(db, 2);

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
    await end(deps, project, batch, { event: 'SETUP_FAILED', executed: 0, failure: { failedTxMsg: 'It fails.' } });
    return (await findBatch(db, batch.id))?.status;
  };
  assert.equal(await failed({ hasBegun: false }), 'FAILED');
  assert.equal(await failed({ hasBegun: true }), 'FINALIZED');
});
