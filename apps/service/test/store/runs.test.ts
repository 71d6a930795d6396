import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import { fencedTransaction, type RunDeps } from '../../src/batches/deps.ts';
import { beginRun, type Run, StaleRun } from '../../src/store/batches/runs.ts';

const { db } = await openTestDatabase();

/** Writes as a worker does. Only the database and the run of its dependencies are used. */
function write(run: Run, work: () => Promise<void> = async () => undefined): Promise<string> {
  return fencedTransaction({ db, run } as RunDeps, async () => {
    await work();
    return 'written';
  });
}

test('a delayed worker writes nothing after another has begun a run on its multisig', async () => {
  const { flywheel } = await storeProject(db);
  const [delayed, current] = [await beginRun(db, flywheel.id), await beginRun(db, flywheel.id)];
  const refused = async () => assert.fail('a stale run must not reach its write');
  await assert.rejects(write(delayed, refused), StaleRun);
  assert.equal(await write(current), 'written');
});

test('a run on one multisig does not end the run on another', async () => {
  const [one, other] = [await storeProject(db), await storeProject(db)];
  const run = await beginRun(db, one.flywheel.id);
  await beginRun(db, other.flywheel.id);
  assert.equal(await write(run), 'written');
});

test('the next run of a multisig begins only after a write of the current run has ended', async () => {
  const { flywheel } = await storeProject(db);
  const run = await beginRun(db, flywheel.id);
  const inside = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const order: string[] = [];
  const writing = write(run, async () => {
    inside.resolve();
    await release.promise;
    order.push('written');
  });
  await inside.promise;
  const beginning = beginRun(db, flywheel.id).then(() => order.push('begun'));
  // The database must have received the statement before the write goes on: it waits for the row's lock then.
  while (!(await isWaitingForLock())) await nextTurn();
  release.resolve();
  await Promise.all([writing, beginning]);
  assert.deepEqual(order, ['written', 'begun']);
});

async function isWaitingForLock(): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    select exists (
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    ) as waits
  `.execute(db);
  return rows[0]?.waits ?? false;
}
