import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { cancel } from '@flywheel/testing/cancel';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject } from '@flywheel/testing/project';
import { REAL_FINALITY, resumeSlots, setUpAndPause } from '@flywheel/testing/slots';
import { openWorld, type World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { findBundles } from '../../src/store/batches/bundles.ts';

let world: World;
before(async () => {
  world = await openWorld({}, REAL_FINALITY);
});
after(() => world.stop());

it('a setup that lands again, after a fork and the end of its batch, is closed', onlyLocal('fork'), async () => {
  const project = await createProject(world);
  const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
  const [setup] = await findBundles(world.db, batch.id, 'setup');
  const slots = (await world.rpc.getSlot({ commitment: 'processed' }).send()) - (setup?.landedSlot ?? 0n);
  world.localnet.fork({ slots });
  await world.localnet.warp({ slots: slots + 2n });
  await cancel(world, project, batch.id);
  await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
  await waitUntil(
    'a closing that finds nothing on chain',
    () => countClosings(batch.id),
    (count) => count > 0,
  );
  const readRow = () =>
    world.db
      .selectFrom('batches')
      .select(['locked_lamports', 'closed_at'])
      .where('id', '=', batch.id)
      .executeTakeFirstOrThrow();
  assert.notEqual((await readRow()).locked_lamports, 0n, 'what may still be locked counts');
  // The next leaders take a transaction that a fork took away, while its blockhash lives.
  for (const wire of setup?.transactions ?? []) {
    await world.rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight: true }).send();
    await world.localnet.warp();
  }
  await resumeSlots(world);
  await waitUntil('the closing', readRow, (row) => row.closed_at !== null);
  assert.equal((await readRow()).locked_lamports, 0n);
});

/** Counts the closings of a batch that have ended. */
async function countClosings(batchId: string): Promise<number> {
  const { rows } = await sql`
    select from jobs.job where data->>'type' = 'close' and data->>'batchId' = ${batchId} and state = 'completed'
  `.execute(world.db);
  return rows.length;
}
