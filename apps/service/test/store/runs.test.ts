import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import { fencedTransaction, type RunDeps } from '../../src/batches/deps.ts';
import { raiseBatchIndex } from '../../src/store/batches/ends.ts';
import { beginRun, type Run, StaleRun } from '../../src/store/batches/runs.ts';

const { db, poolConfig } = await openTestDatabase();

const refused = async () => assert.fail('a stale run must not reach its write');

/** Writes as a worker does. Only the database and the run of its dependencies are used. */
function write(run: Run, work: () => Promise<void> = async () => undefined): Promise<string> {
  return fencedTransaction({ db, run } as RunDeps, async () => {
    await work();
    return 'written';
  });
}

test('a delayed worker writes nothing after another has begun a run on its multisig', async () => {
  const { flywheel } = await storeProject(db);
  for (const lane of ['setup', 'deciding'] as const) {
    const [delayed, current] = [await beginRun(db, flywheel.id, lane), await beginRun(db, flywheel.id, lane)];
    await assert.rejects(write(delayed, refused), StaleRun);
    assert.equal(await write(current), 'written');
  }
});

test('a setup and another job of a multisig do not end each other’s runs', async () => {
  const { flywheel } = await storeProject(db);
  const setup = await beginRun(db, flywheel.id, 'setup');
  const deciding = await beginRun(db, flywheel.id, 'deciding');
  assert.equal(await write(setup), 'written');
  await beginRun(db, flywheel.id, 'setup');
  assert.equal(await write(deciding), 'written');
  await assert.rejects(write(setup, refused), StaleRun);
});

test('a run of the release before lanes ends a setup, which begins again when that run has no job', async () => {
  const { flywheel } = await storeProject(db);
  const { address: multisig } = flywheel.multisig;
  const setup = await beginRun(db, flywheel.id, 'setup');
  const earlier = await beginRunOfOneLane(flywheel.id);
  await assert.rejects(write(setup, refused), StaleRun);
  assert.equal(await write(earlier), 'written');
  const jobs = await startTestJobs({ poolConfig });
  await jobs.enqueue(db, { type: 'execute', batchId: randomUUID(), multisig });
  await jobs.stop();
  await sql`update jobs.job set state = 'active' where singleton_key = ${multisig}`.execute(db);
  await assert.rejects(beginRun(db, flywheel.id, 'setup'), StaleRun);
  assert.equal(await write(earlier), 'written');
  await sql`update jobs.job set state = 'retry' where singleton_key = ${multisig}`.execute(db);
  const again = await beginRun(db, flywheel.id, 'setup');
  await assert.rejects(write(earlier, refused), StaleRun);
  assert.equal(await write(again), 'written');
});

test('a run on one multisig does not end the run on another', async () => {
  const [one, other] = [await storeProject(db), await storeProject(db)];
  const run = await beginRun(db, one.flywheel.id, 'deciding');
  await beginRun(db, other.flywheel.id, 'deciding');
  assert.equal(await write(run), 'written');
});

test('the next run of a multisig begins only after a write of the current run has ended', async () => {
  const { flywheel } = await storeProject(db);
  const run = await beginRun(db, flywheel.id, 'deciding');
  const inside = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const order: string[] = [];
  const writing = write(run, async () => {
    inside.resolve();
    await release.promise;
    order.push('written');
  });
  await inside.promise;
  const beginning = beginRun(db, flywheel.id, 'deciding').then(() => order.push('begun'));
  // The database must have received the statement before the write goes on: it waits for the row's lock then.
  while (!(await isWaitingForLock())) await nextTurn();
  release.resolve();
  await Promise.all([writing, beginning]);
  assert.deepEqual(order, ['written', 'begun']);
});

test('both lanes of a multisig may change its flywheel at the same time: neither ends in a deadlock', async () => {
  const { flywheel } = await storeProject(db);
  const runs = [await beginRun(db, flywheel.id, 'setup'), await beginRun(db, flywheel.id, 'deciding')];
  let begun = 0;
  const change = (run: Run) =>
    fencedTransaction(
      { db, run } as RunDeps,
      async (trx) => {
        begun += 1;
        while (begun < 2 && !(await isWaitingForLock())) await nextTurn();
        await raiseBatchIndex(trx, flywheel.id, 7n);
      },
      { locksFlywheel: true },
    );
  await Promise.all(runs.map(change));
});

/** Begins a run as release 0.2.0 does. */
async function beginRunOfOneLane(flywheelId: string): Promise<Run> {
  const { run_number: number } = await db
    .updateTable('flywheels')
    .set({ run_number: sql`run_number + 1` })
    .where('id', '=', flywheelId)
    .returning('run_number')
    .executeTakeFirstOrThrow();
  return { flywheelId, lane: 'deciding', number };
}

async function isWaitingForLock(): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    select exists (
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    ) as waits
  `.execute(db);
  return rows[0]?.waits ?? false;
}
