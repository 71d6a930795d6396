import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { randomAddress } from '@flywheel/testing/records';
import { sql } from 'kysely';
import { type Jobs, startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const { db, poolConfig } = await openTestDatabase();
/** The poll of the queue. */
const POLL_MS = 1_000;

test('a job of a batch takes the place of no other, and a repetition joins the one that waits', async (context) => {
  const jobs = await openJobs(context);
  const [multisig, batchId] = [randomAddress(), randomUUID()];
  const execute = { type: 'execute', batchId, multisig } as const;
  const inMinutes = (minutes: number) => ({ startAfter: new Date(Date.now() + 60_000 * minutes) });
  await jobs.enqueue(db, execute, inMinutes(10));
  await jobs.enqueue(db, execute, inMinutes(20));
  await jobs.enqueue(db, { ...execute, type: 'close' }, inMinutes(30));
  await jobs.enqueue(db, { ...execute, batchId: randomUUID() }, inMinutes(40));
  assert.deepEqual(await readMinutes(), [10, 30, 40]);
  await jobs.enqueue(db, execute, inMinutes(5));
  assert.deepEqual(await readMinutes(), [5, 30, 40], 'the earlier time counts');
  await jobs.enqueue(db, execute);
  assert.deepEqual(await readMinutes(), [0, 30, 40]);

  await sql`update jobs.job set state = 'retry', start_after = now() + interval '15 minutes' where data->>'type' = 'close'`.execute(
    db,
  );
  await jobs.enqueue(db, { ...execute, type: 'close' });
  assert.deepEqual(await readMinutes(), [0, 15, 40], 'a job that has failed keeps the time of its next attempt');
  await sql`update jobs.job set state = 'active' where data->>'type' = 'close'`.execute(db);
  await jobs.enqueue(db, { ...execute, type: 'close' }, inMinutes(50));
  assert.deepEqual(await readMinutes(), [0, 15, 40, 50], 'a job that runs may have read what has changed since');

  async function readMinutes(): Promise<number[]> {
    const { rows } = await sql<{ minutes: number }>`
      select round(extract(epoch from start_after - now()) / 60)::int as minutes from jobs.job order by 1
    `.execute(db);
    return rows.map(({ minutes }) => minutes);
  }
});

test('a job that a transaction requests again sees what that transaction has written', async (context) => {
  const jobs = await openJobs(context);
  await sql`create table changes (id int)`.execute(db);
  const seen: number[] = [];
  const [isBegun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await jobs.work(
    async ({ type }) => {
      if (type !== 'review-changes') return;
      const { rows } = await sql`select from changes`.execute(db);
      seen.push(rows.length);
      isBegun.resolve();
      if (seen.length === 1) await mayEnd.promise;
    },
    { maxBatches: 16 },
  );
  await jobs.enqueue(db, { type: 'review-changes' });
  await isBegun.promise;
  await jobs.enqueue(db, { type: 'review-changes' });
  await db.transaction().execute(async (trx) => {
    await sql`insert into changes values (1)`.execute(trx);
    await jobs.enqueue(trx, { type: 'review-changes' });
    mayEnd.resolve();
    await sleep(3 * POLL_MS);
  });
  await waitUntil(
    'the second review',
    async () => seen.length,
    (length) => length === 2,
  );
  assert.deepEqual(seen, [0, 1]);
});

test('a job that its own process has claimed again ends the first attempt, and keeps its heartbeat', async (context) => {
  const jobs = await openJobs(context);
  const attempts: AbortSignal[] = [];
  const mayEnd = Promise.withResolvers<void>();
  await jobs.work(
    async (job, signal) => {
      if (job.type !== 'execute') return;
      attempts.push(signal);
      if (attempts.length === 1) await mayEnd.promise;
      else await sleep(60_000, undefined, { signal }).catch(() => undefined);
    },
    { maxBatches: 16 },
  );
  const batchId = randomUUID();
  await jobs.enqueue(db, { type: 'execute', batchId, multisig: randomAddress() });
  const count = async () => attempts.length;
  await waitUntil('the first attempt', count, (length) => length === 1);
  // The supervision of the queue does this with a job that shows no heartbeat.
  await sql`update jobs.job set state = 'retry', start_after = now() where data->>'batchId' = ${batchId}`.execute(db);
  await waitUntil('the second attempt', count, (length) => length === 2);
  assert.deepEqual(
    attempts.map(({ aborted }) => aborted),
    [true, false],
  );
  mayEnd.resolve();
  await sleep(POLL_MS);
  const { now } = await readHeartbeat(batchId);
  await waitUntil(
    'a heartbeat',
    () => readHeartbeat(batchId),
    ({ heartbeat }) => heartbeat > now,
  );
});

async function readHeartbeat(batchId: string): Promise<{ readonly now: number; readonly heartbeat: number }> {
  const { rows } = await sql<{ now: number; heartbeat: number }>`
    select extract(epoch from now())::float8 as now, extract(epoch from heartbeat_on)::float8 as heartbeat
    from jobs.job where data->>'batchId' = ${batchId}
  `.execute(db);
  return rows[0] ?? assert.fail('The job is gone.');
}

/** Opens a queue without jobs, until the end of the test: another test's worker would take its jobs. */
async function openJobs(context: TestContext): Promise<Jobs> {
  await sql`delete from jobs.job`.execute(db);
  const jobs = await startJobs({ poolConfig, log: quietLog, metrics: createMetrics() });
  context.after(() => jobs.stop({ timeoutSeconds: 0 }));
  return jobs;
}
