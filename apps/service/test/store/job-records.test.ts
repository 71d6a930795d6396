import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { randomAddress } from '@flywheel/testing/records';
import { sql } from 'kysely';
import type { Db } from '../../src/store/db.ts';
import { findJobs } from '../../src/store/jobs/job-records.ts';

const [COMPLETED, OPEN] = [2_000, 30];

test('a list of unattended jobs reads each job once, also beside many completed ones', async (context) => {
  const database = await openTestDatabase();
  const queue = await startTestJobs(database);
  context.after(() => queue.stop());
  const { db } = database;
  const job = { type: 'setup', batchId: randomUUID(), multisig: randomAddress() } as const;
  await queue.enqueue(db, job, { startAfter: new Date(Date.now() - 120_000) });
  await sql`
    insert into jobs.job
    select (jsonb_populate_record(job, jsonb_build_object(
      'id', gen_random_uuid(), 'singleton_key', 'multisig' || n,
      'state', case when n < ${OPEN}::int then 'created' else 'completed' end
    ))).*
    from jobs.job job, generate_series(1, ${OPEN + COMPLETED - 1}::int) n
  `.execute(db);
  await sql`analyze jobs.job`.execute(db);
  const { jobs, read } = await db.transaction().execute(async (trx) => {
    const before = await countRowsRead(trx);
    const jobs = await findJobs(trx, { withCompleted: false });
    return { jobs, read: (await countRowsRead(trx)) - before };
  });
  assert.deepEqual(
    jobs.map(({ problem }) => problem),
    Array(OPEN).fill('unattended'),
  );
  assert.ok(read < 2 * (OPEN + COMPLETED), `${read} rows and index entries were read`);
});

async function countRowsRead(trx: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`
    select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::float8 as read
    from pg_class where relkind in ('r', 'i') and relnamespace = 'jobs'::regnamespace
  `.execute(trx);
  return rows[0]?.read ?? Number.NaN;
}
