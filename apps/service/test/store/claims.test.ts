import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { clearJobs, type Job, type Jobs, startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, type TestDatabase } from '@flywheel/testing/postgres';
import { newPipeline, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import pg from 'pg';
import { claimJobs, findFollowed, keepClaims } from '../../src/store/jobs/claim.ts';
import { roomOf } from '../../src/store/jobs/run-claimed.ts';

type BatchJob = Extract<Job, { batchId: string }>;

let database: TestDatabase;
let jobs: Jobs;
let pool: pg.Pool;
let queueDb: { executeSql(text: string, values?: unknown[]): Promise<pg.QueryResult> };

before(async () => {
  database = await openTestDatabase();
  jobs = await startTestJobs(database);
  pool = new pg.Pool(database.poolConfig);
  queueDb = { executeSql: (text, values) => pool.query(text, values) };
});
after(async () => {
  await jobs.stop();
  await pool.end();
});
beforeEach(() => clearJobs(database.db));

test('claims serve the project that was served least recently, and a single batch before a backlog', async () => {
  const names = ['served long ago', 'served just now', 'with a backlog', 'new'] as const;
  const [old, recent, backlogged, fresh] = await Promise.all(names.map(() => storeMultisig()));
  assert.ok(old && recent && backlogged && fresh);
  await serve(recent, 1);
  await serve(old, 200);
  for (const multisig of [recent, old, backlogged, backlogged, fresh]) await enqueue('setup', multisig);
  const order: (Address | undefined)[] = [];
  for (let i = 0; i < 4; i++) order.push(...(await claim(1)));
  assert.deepEqual(order, [fresh, old, backlogged, recent]);
  assert.deepEqual(await claim(4), []);
});

test('claims take a setup of a multisig beside another job of it, and a second one of neither', async () => {
  const multisig = await storeMultisig();
  for (const type of ['execute', 'setup', 'setup', 'expire'] as const) await enqueue(type, multisig);
  const { rows } = await runClaim(8);
  assert.deepEqual(rows.map(({ data }) => data.type).sort(), ['execute', 'setup']);
  assert.deepEqual((await runClaim(8)).rows, []);
  await end(
    rows.filter(({ data }) => data.type === 'setup'),
    'retry',
  );
  const [again, ...others] = (await runClaim(8)).rows;
  assert.deepEqual([again?.id, others], [rows.find(({ data }) => data.type === 'setup')?.id, []]);
  await end(rows, 'completed');
  assert.deepEqual((await runClaim(8)).rows.map(({ data }) => data.type).sort(), ['expire', 'setup']);
});

test('claims take nothing of a multisig beside a setup that a release with one lane has claimed', async () => {
  const multisig = await storeMultisig();
  await enqueue('setup', multisig);
  await sql`update jobs.job set state = 'active'`.execute(database.db);
  for (const type of ['execute', 'setup'] as const) await enqueue(type, multisig);
  assert.deepEqual((await runClaim(8)).rows, []);
  await sql`update jobs.job set state = 'retry' where state = 'active'`.execute(database.db);
  // Its next claim frees the key of the other jobs.
  assert.deepEqual(
    (await runClaim(8)).rows.map(({ data }) => data.type),
    ['setup'],
  );
  assert.deepEqual(
    (await runClaim(8)).rows.map(({ data }) => data.type),
    ['execute'],
  );
});

test('claims take one of two setups that wait to be retried, of which a release with one lane has run one', async () => {
  const multisig = await storeMultisig();
  const claimOne = async () => {
    const { rows } = await runClaim(8);
    assert.equal(rows.length, 1);
    await end(rows, 'retry');
    return rows.map(({ id }) => id);
  };
  await enqueue('setup', multisig);
  const [own] = await claimOne();
  await enqueue('setup', multisig);
  await sql`update jobs.job set state = 'retry' where state = 'created'`.execute(database.db);
  const [next] = (await runClaim(8)).rows;
  assert.equal(next?.id, own);
  await end(next ? [next] : [], 'completed');
  assert.notEqual((await claimOne())[0], own);
});

test('claims go on although somebody has written a setup with the key under which setups run', async () => {
  const [attacked, other] = [await storeMultisig(), await storeMultisig()];
  for (const multisig of [attacked, attacked, other]) await enqueue('setup', multisig);
  await sql`
    update jobs.job set singleton_key = ${`${attacked}:setup`}
    where id = (select id from jobs.job where singleton_key = ${attacked} order by created_on limit 1)
  `.execute(database.db);
  assert.deepEqual((await claim(8)).sort(), [attacked, other].sort());
  assert.deepEqual(await claim(8), []);
});

test('claims leave a backlog behind for minutes at most', async () => {
  const [backlogged, closedLoop] = [await storeMultisig(), await storeMultisig()];
  for (let i = 0; i < 30; i++) await enqueue('setup', backlogged);
  await enqueue('setup', closedLoop);
  await serve(closedLoop, 30);
  assert.deepEqual(await claim(1), [backlogged]);
});

test('claims serve a small batch before a large one that was due earlier', async () => {
  const { db } = database;
  await storeNonces(db, 2);
  const multisigs: Address[] = [];
  for (const count of [11, 1]) {
    const project = await storeProject(db);
    const pipelines = Array.from({ length: count }, () => newPipeline());
    const { id: batchId } = await storeBatch(db, project, { pipelines });
    const { address: multisig } = project.flywheel.multisig;
    await jobs.enqueue(db, { type: 'setup', batchId, multisig });
    multisigs.push(multisig);
  }
  const [large, small] = multisigs;
  assert.ok(large && small);
  assert.deepEqual(await claim(1), [small]);
  const [job] = (await runClaim(4)).rows;
  assert.deepEqual([job?.data.multisig, job?.isLarge, job?.isFollowed, job?.sinceServedMs], [large, true, false, null]);
});

test('a running job learns that its project has another batch to set up, and not of an expiry', async () => {
  const [followed, alone] = [await storeMultisig(), await storeMultisig()];
  for (const multisig of [followed, alone]) await enqueue('setup', multisig);
  const { rows } = await runClaim(4);
  assert.equal(rows.length, 2);
  await enqueue('setup', followed);
  await enqueue('expire', alone);
  const expected = rows.filter(({ data }) => data.multisig === followed).map(({ id }) => id);
  assert.deepEqual([...(await findFollowed(queueDb, rows))], expected);
});

test('claims keep a quarter of the places for setups, and a quarter for executions', async () => {
  for (const type of ['setup', 'execute'] as const) {
    await clearJobs(database.db);
    for (let i = 0; i < 8; i++) await enqueue(type, await storeMultisig());
    assert.equal((await claim(8)).length, 6);
  }
  await clearJobs(database.db);
  for (let i = 0; i < 8; i++) {
    for (const type of ['execute', 'setup'] as const) await enqueue(type, await storeMultisig());
  }
  const { rows } = await runClaim(8);
  assert.equal(rows.filter(({ data }) => data.type === 'setup').length, 2);
  assert.equal(rows.length, 8);
});

test('a claim is kept by its latest attempt only', async () => {
  await enqueue('setup', await storeMultisig());
  const [job] = (await runClaim(4)).rows;
  assert.ok(job);
  assert.deepEqual([...(await keepClaims(queueDb, [job]))], [job.id]);
  await sql`update jobs.job set state = 'retry', start_after = now()`.execute(database.db);
  assert.equal((await keepClaims(queueDb, [job])).size, 0);
  const [again] = (await runClaim(4)).rows;
  assert.equal(again?.retryCount, job.retryCount + 1);
  assert.equal((await keepClaims(queueDb, [job])).size, 0);
});

async function storeMultisig(): Promise<Address> {
  return (await storeProject(database.db)).flywheel.multisig.address;
}

async function serve(multisig: Address, secondsAgo: number): Promise<void> {
  const servedAt = sql<Date>`now() - ${secondsAgo} * interval '1 second'`;
  await database.db.updateTable('flywheels').set({ served_at: servedAt }).where('multisig', '=', multisig).execute();
}

function enqueue(type: BatchJob['type'], multisig: Address): Promise<void> {
  return jobs.enqueue(database.db, { type, batchId: randomUUID(), multisig });
}

async function end(ended: readonly { readonly id: string }[], state: 'retry' | 'completed'): Promise<void> {
  for (const { id } of ended) {
    await sql`update jobs.job set state = ${state}, start_after = now() where id = ${id}`.execute(database.db);
  }
}

async function runClaim(maxBatches: number) {
  return { rows: await claimJobs<BatchJob>(queueDb, roomOf(maxBatches, 0, 0)) };
}

/** Claims up to `places` jobs for a worker that has none. @returns their multisigs. */
async function claim(places: number): Promise<Address[]> {
  const room = { ...roomOf(Math.max(places, 4), 0, 0), total: places };
  return (await claimJobs<BatchJob>(queueDb, room)).map(({ data }) => data.multisig);
}
