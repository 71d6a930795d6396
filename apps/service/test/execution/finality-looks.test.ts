import assert from 'node:assert/strict';
import { it } from 'node:test';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld } from '@flywheel/testing/world';
import { findJobs } from '../../src/store/jobs/job-records.ts';

/** Ten seconds: a job that looked every two seconds would look ten times. */
const FINALITY = { slotMs: 50, finalizedLagSlots: 200 };

it('the job that closes a batch looks when its end may be final, and when its closing may be', async () => {
  const world = await openWorld({}, FINALITY);
  try {
    // A cluster that has just begun has finalized slot 0.
    await world.localnet.warp({ slots: BigInt(FINALITY.finalizedLagSlots) });
    // A worker that has seen the jump would take slots for shorter than they are.
    await world.restart();
    const project = await createProject(world);
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline()]);
    requireOk(await executeSigned(world, project, { id, signedTx }, { prefer: 'wait=60' }));
    await waitUntil(
      'the closing',
      () => world.db.selectFrom('batches').select('closed_at').where('id', '=', id).executeTakeFirstOrThrow(),
      (batch) => batch.closed_at !== null,
    );
    const jobs = await findJobs(world.db, { withCompleted: true });
    const looks = jobs.filter(
      ({ batchId, type, startedAt }) => batchId === id && type === 'close' && startedAt !== null,
    );
    // One when the end is final, which closes it; one when the closing is final; and two for estimates that are too early.
    assert.ok(looks.length <= 4, `${looks.length} looks`);
    // The ledger has all costs, so that another look would find nothing.
    assert.equal(await countOpenJobs(world, 'close', id), 0);
  } finally {
    await world.stop();
  }
});
