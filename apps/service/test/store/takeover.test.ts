import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { startJobs } from '../../src/store/jobs/jobs.ts';
import { joinWorkers } from '../../src/store/jobs/takeover.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const { db, poolConfig } = await openTestDatabase();

test('a worker whose connection is lost is marked again, so that no starting worker takes its jobs', async () => {
  const living = await joinWorkers(poolConfig, quietLog);
  await waitUntil('the mark', findMarks, ({ length }) => length === 1);
  const [lost] = await findMarks();
  await sql`select pg_terminate_backend(${lost})`.execute(db);
  await waitUntil('another mark', findMarks, (marks) => marks.length === 1 && !marks.includes(lost ?? 0));

  await sql`insert into jobs.job (name, data, state) values ('batch', '{}', 'active')`.execute(db);
  const starting = await joinWorkers(poolConfig, quietLog);
  const { rows } = await sql<{ state: string }>`select state::text from jobs.job`.execute(db);
  assert.deepEqual(rows, [{ state: 'active' }]);
  await Promise.all([living.leave(), starting.leave()]);
  assert.deepEqual(await waitUntil('no mark', findMarks, ({ length }) => length === 0), []);
});

test('a queue notices on each of its connections that the server is gone without a word', async (t) => {
  const kept = t.mock.method(Socket.prototype, 'setKeepAlive');
  const jobs = await startJobs({ poolConfig, log: quietLog, metrics: createMetrics() });
  try {
    await jobs.work(async () => undefined, { maxBatches: 16 });
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name like 'flywheel-%'
    `.execute(db);
    const opened = rows[0]?.count ?? 0;
    assert.ok(opened > 2, `${opened} connections`);
    const watched = new Set(kept.mock.calls.map((call) => call.this));
    assert.ok(watched.size >= opened, `${watched.size} of ${opened} connections`);
  } finally {
    await jobs.stop({ timeoutSeconds: 0 });
  }
});

/** Lists the processes that hold the lock of the workers of this database. */
async function findMarks(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and datname = current_database() and application_name = 'flywheel-worker'
  `.execute(db);
  return rows.map(({ pid }) => pid);
}
