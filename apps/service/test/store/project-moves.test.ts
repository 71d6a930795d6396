import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { instantClock, realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { countLockWaits, openTestDatabase } from '@flywheel/testing/postgres';
import {
  later,
  NOW,
  newBundle,
  randomAddress,
  storeBatch,
  storeNonces,
  storeProject,
  storeWorkerKeys,
} from '@flywheel/testing/records';
import { fastify } from 'fastify';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { streamEvents } from '../../src/batches/events.ts';
import { pauseProject } from '../../src/company/pause.ts';
import { sendEvents } from '../../src/http/operations/events.ts';
import type { Project } from '../../src/model/project.ts';
import { readHistory } from '../../src/projects/history.ts';
import { type MoveOptions, MoveRefused, type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import { findAuditEntries, insertAuditEntry } from '../../src/store/audit.ts';
import { findBundles, insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { recordEvent } from '../../src/store/batches/events.ts';
import { beginRun, requireRun, StaleRun } from '../../src/store/batches/runs.ts';
import { findLastExpiry, insertChange, insertReview } from '../../src/store/company/changes.ts';
import { findHalt, MOVING, Moving, requireUnpaused } from '../../src/store/company/pauses.ts';
import type { Db } from '../../src/store/db.ts';
import type { Job } from '../../src/store/jobs/jobs.ts';
import { insertProject } from '../../src/store/projects/projects.ts';
import { hasDeparted, isHere } from '../../src/store/shards/directory.ts';

const [source, destination, other] = [await openTestDatabase(), await openTestDatabase(), await openTestDatabase()];
const [from, to] = [source.db, destination.db];
const jobs = await startTestJobs(source);
await storeNonces(from, 20);
const none = async () => undefined;

test.after(() => jobs.stop());

test('a move waits for a transaction that was first, and takes its rows', async () => {
  const project = await storeKnownProject();
  const written = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const entry = { at: NOW, actor: randomAddress(), action: 'key.created', projectId: project.id } as const;
  const first = from.transaction().execute(async (trx) => {
    await insertAuditEntry(trx, entry);
    written.resolve();
    await mayEnd.promise;
  });
  await written.promise;
  const moving = moveProject({ from, to, clock: realClock }, project.id, none);
  await waitUntil(
    'the lock',
    () => countLockWaits(from),
    (count) => count === 1,
  );
  mayEnd.resolve();
  await Promise.all([first, moving]);
  const moved = await findAuditEntries(to, { projectId: project.id, below: null, limit: 10 });
  assert.equal(moved[0]?.actor, entry.actor);
});

test('a worker that holds the flywheel of a project which departs learns that it moves, and no deadlock ends its job', async () => {
  const project = await storeKnownProject();
  const { id: flywheelId } = project.flywheel;
  const run = await beginRun(from, flywheelId, 'deciding');
  const held = Promise.withResolvers<void>();
  const isDeparting = Promise.withResolvers<void>();
  const working = from.transaction().execute(async (trx) => {
    // PostgreSQL ends the transaction that finds a deadlock: this one would find it first.
    await sql`set local deadlock_timeout = '10ms'`.execute(trx);
    await requireRun(trx, run);
    held.resolve();
    await isDeparting.promise;
    await requireUnpaused(trx, flywheelId);
  });
  const stopped = assert.rejects(working, Moving);
  await held.promise;
  const moving = moveProject({ from, to, clock: realClock }, project.id, none);
  await waitUntil(
    'the lock',
    () => countLockWaits(from),
    (count) => count === 1,
  );
  isDeparting.resolve();
  await Promise.all([stopped, moving]);
  assert.deepEqual(await livesIn(project), ['destination']);
});

test('a move waits until a job that ended meanwhile has left its repetition or its successor in the queue', async (context) => {
  // The statement that takes the jobs out is slow, as on a busy server.
  await sql`
    create function slow_down() returns trigger language plpgsql as $$ begin
      if new.table_name = 'jobs.job' then perform pg_sleep(1); end if;
      return new;
    end $$
  `.execute(from);
  await sql`create trigger slow_down before insert on departed_rows for each row execute function slow_down()`.execute(
    from,
  );
  context.after(() => sql`drop function slow_down cascade`.execute(from));
  const isTakingOut = async () =>
    (
      await sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`.execute(
        from,
      )
    ).rows;
  const running = await startTestJobs(source);
  context.after(() => running.stop({ timeoutSeconds: 0 }));
  let [isRunning, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await running.work(
    async (job) => {
      if (job.type === 'expire') return;
      isRunning.resolve();
      await end.promise;
    },
    { maxBatches: 16 },
  );
  const endings = {
    execute: () => end.reject(new Error('It moves to another shard.')),
    close: async (job: Job) => {
      await jobs.enqueue(from, job, { startAfter: new Date(Date.now() + 5_000) });
      end.resolve();
    },
  };
  for (const type of ['execute', 'close'] as const) {
    [isRunning, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const project = await storeKnownProject();
    const batch = await storeBatch(from, project);
    const of = { batchId: batch.id, multisig: project.flywheel.multisig.address };
    await jobs.enqueue(from, { type, ...of });
    await isRunning.promise;
    await jobs.enqueue(from, { type: 'expire', ...of }, { startAfter: new Date(Date.now() + 86_400_000) });
    const moving = moveProject({ from, to, clock: realClock }, project.id, none);
    await waitUntil('the departure', isTakingOut, (sleeping) => sleeping.length > 0);
    await endings[type]({ type, ...of });
    await moving;
    const { rows } = await sql<{ type: string }>`
      select data->>'type' as type from jobs.job where data->>'batchId' = ${batch.id} order by 1
    `.execute(to);
    assert.deepEqual(
      rows,
      [{ type }, { type: 'expire' }].toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    );
  }
});

test('an open stream of events ends without an error when its project leaves', async (context) => {
  const project = await storeKnownProject();
  const batch = await storeBatch(from, project);
  await recordEvent(from, batch.id, { type: 'batch.finalized', at: NOW });
  const watched = Promise.withResolvers<() => void>();
  const watch = (_: string, notify: () => void) => {
    watched.resolve(notify);
    return () => undefined;
  };
  const errors: unknown[] = [];
  const server = fastify();
  context.after(() => server.close());
  server.get('/', (_, reply) =>
    sendEvents(reply, (signal) => streamEvents({ db: from, clock: realClock, feed: { watch } }, batch.id, 0n, signal), {
      closing: new AbortController().signal,
      log: { error: (error: unknown) => errors.push(error) } as unknown as Logger,
    }),
  );
  const response = await fetch(await server.listen({ host: '127.0.0.1', port: 0 }));
  const text = response.text();
  const notify = await watched.promise;
  await moveProject({ from, to, clock: realClock }, project.id, none);
  notify();
  assert.match(await text, /event: batch\.finalized/);
  assert.deepEqual(errors, []);
});

test('a project does not leave while a job runs or a bundle is in flight, and takes work again', async () => {
  const project = await storeKnownProject();
  const batch = await storeBatch(from, project);
  const { multisig } = project.flywheel;
  await jobs.enqueue(from, { type: 'setup', batchId: batch.id, multisig: multisig.address });
  const setJob = (state: 'active' | 'created') =>
    sql`update jobs.job set state = ${state} where singleton_key = ${multisig.address}`.execute(from);
  await setJob('active');
  await assertRefused(project, /while a worker runs a job of it/);
  await setJob('created');
  const bundle = await insertBundle(from, newBundle(batch));
  await assertRefused(project, /while a bundle is in flight/);
  await settleBundle(from, bundle.id, 'landed', { signatures: [], slot: 1n }, NOW);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  const { rows } = await sql<{ type: string }>`
    select data->>'type' as type from jobs.job where singleton_key = ${multisig.address}
  `.execute(to);
  assert.deepEqual(rows, [{ type: 'setup' }]);
  assert.deepEqual(
    (await findBundles(to, batch.id)).map(({ bundleId }) => bundleId),
    [bundle.bundleId],
  );
});

test('a project does not leave if all projects are paused after its move began, or while workers still hold their pause', async () => {
  const project = await storeKnownProject();
  const pause = (pausedAt: Date | null) => from.updateTable('company').set({ paused_at: pausedAt }).execute();
  await assertRefused(project, /It cannot leave while the company has paused all projects/, () => pause(NOW));
  await pause(null);
  const hold = () => from.insertInto('company_pauses').values({ multisig: null, paused_at: NOW }).execute();
  await assertRefused(project, /It cannot leave while the company has paused all projects/, hold);
  await assertRefused(project, /^The company has paused all projects of the source/);
  await from.deleteFrom('company_pauses').where('multisig', 'is', null).execute();
  await moveProject({ from, to, clock: realClock }, project.id, none);
  assert.deepEqual(await livesIn(project), ['destination']);
});

test('a move that was interrupted goes on to the same destination only', async () => {
  const project = await storeKnownProject();
  await interruptDeparted(project);
  assert.deepEqual(await livesIn(project), []);
  assert.ok(await hasDeparted(from, { projectId: project.id }));
  await assert.rejects(moveProject({ from, to: other.db, clock: realClock }, project.id, none), MoveRefused);
  const discarding = moveProject({ from, to, clock: realClock }, project.id, none, { isDiscarded: true });
  await assert.rejects(discarding, (error) => error instanceof MoveRefused && /without --discard/.test(error.message));
  await moveProject({ from, to, clock: realClock }, project.id, none);
  assert.deepEqual(await livesIn(project), ['destination']);
  await assert.rejects(moveProject({ from: to, to, clock: realClock }, project.id, none), MoveRefused);
});

test('a project that a restored backup brings back is taken out there, and only there', async (context) => {
  const project = await storeKnownProject();
  await storeBatch(from, project);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  // The backup was made while the project was at work, and all projects were paused.
  await sql`delete from project_moves where project_id = ${project.id}`.execute(from);
  await insertProject(from, { ...project, proofTypes: new Map() }, NOW);
  const batch = await storeBatch(from, project);
  const { id: flywheelId, multisig } = project.flywheel;
  const run = await beginRun(from, flywheelId, 'deciding');
  await insertBundle(from, newBundle(batch));
  await insertChange(from, signedChange(project), NOW);
  await jobs.enqueue(from, { type: 'execute', batchId: batch.id, multisig: multisig.address });
  await sql`update jobs.job set state = 'active' where singleton_key = ${multisig.address}`.execute(from);
  const pause = (pausedAt: Date | null) => from.updateTable('company').set({ paused_at: pausedAt }).execute();
  await pause(NOW);
  context.after(() => pause(null));
  // The operator was replaced in the destination.
  await to.deleteFrom('worker_keys').where('address', '=', multisig.operator).execute();
  await assert.rejects(moveProject({ from, to, clock: realClock }, project.id, none), /--discard/);
  await moveProject({ from, to, clock: realClock }, project.id, none, { isDiscarded: true });
  assert.deepEqual(await livesIn(project), ['destination']);
  assert.equal((await to.selectFrom('batches').select('id').where('project_id', '=', project.id).execute()).length, 1);
  const left = await sql`select from jobs.job where singleton_key = ${multisig.address}`.execute(from);
  assert.equal(left.rows.length, 0);
  const goesOn = from.transaction().execute((trx) => requireRun(trx, run));
  await assert.rejects(goesOn, StaleRun);
});

test('a discard that was interrupted goes on as a discard only', async () => {
  const project = await storeKnownProject();
  await moveProject({ from, to, clock: realClock }, project.id, none);
  await sql`delete from project_moves where project_id = ${project.id}`.execute(from);
  await insertProject(from, { ...project, proofTypes: new Map() }, NOW);
  await closeBatch(await storeBatch(from, project));
  const discard = { isDiscarded: true };
  await interruptDeparted(project, discard);
  await assert.rejects(moveProject({ from, to, clock: realClock }, project.id, none), /--discard/);
  assert.equal((await to.selectFrom('batches').select('id').where('project_id', '=', project.id).execute()).length, 0);
  await moveProject({ from, to, clock: realClock }, project.id, none, discard);
  assert.deepEqual(await livesIn(project), ['destination']);
});

test('numbers of a moved project are those of the destination, and those of events go on', async () => {
  const project = await storeKnownProject();
  const batch = await storeBatch(from, project);
  await sql`select setval(pg_get_serial_sequence('batch_events', 'id'), 1000)`.execute(from);
  await recordEvent(from, batch.id, { type: 'batch.approval_received', at: NOW });
  const there = await storeProject(to);
  for (let i = 0; i < 3; i += 1) await insertChange(to, signedChange(there), NOW);
  const { expiresAt, ...change } = signedChange(project);
  const id = await insertChange(from, { ...change, expiresAt }, NOW);
  await insertReview(from, id ?? assert.fail(), { nonce: change.nonce }, NOW);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  assert.deepEqual(await findLastExpiry(to, project.id), expiresAt);
  await recordEvent(to, batch.id, { type: 'batch.approval_received', at: NOW });
  const events = await to
    .selectFrom('batch_events')
    .select('id')
    .where('batch_id', '=', batch.id)
    .orderBy('id')
    .execute();
  assert.deepEqual(
    events.slice(-2).map((event) => event.id),
    [1001n, 1002n],
  );
});

test('the audit log of all projects is in the order of time, also with entries that a project has brought', async () => {
  const project = await storeKnownProject();
  const write = (db: Db, ms: number, projectId?: string) =>
    insertAuditEntry(db, {
      at: later(ms),
      actor: randomAddress(),
      action: 'key.created',
      ...(projectId !== undefined && { projectId }),
    });
  for (const ms of [10, 30, 50]) await write(from, ms, project.id);
  for (const ms of [20, 40]) await write(to, ms);
  await moveProject({ from, to, clock: realClock }, project.id, none);
  await write(to, 60);
  const readAll = async (projectId: string | null, cursor?: string): Promise<string[]> => {
    const { rows, nextCursor } = await readHistory({ db: to }, projectId, { cursor, limit: 2 });
    const times = rows.map(({ at }) => at);
    return nextCursor === null ? times : [...times, ...(await readAll(projectId, nextCursor))];
  };
  const timesOf = (...ms: number[]) => ms.map((each) => later(each).toISOString());
  assert.deepEqual((await readAll(null)).slice(0, 6), timesOf(60, 50, 40, 30, 20, 10));
  assert.deepEqual(await readAll(project.id), timesOf(50, 30, 10));

  const { nextCursor } = await readHistory({ db: to }, project.id, { cursor: undefined, limit: 1 });
  await storeWorkerKeys(from, project);
  await moveProject({ from: to, to: from, clock: realClock }, project.id, none);
  const gone = readHistory({ db: to }, null, { cursor: nextCursor ?? '', limit: 1 });
  await assert.rejects(gone, /not in this log any more\. Begin with the first page/);
});

test('a pause of a project that has left is answered as one of a project that moves', async () => {
  const project = await storeKnownProject();
  await moveProject({ from, to, clock: realClock }, project.id, none);
  const pause = (db: Db, projectId: string) =>
    pauseProject({ db, jobs, clock: realClock }, randomAddress(), projectId, {});
  await assert.rejects(pause(from, project.id), { code: 'ERR_PROJECT_MOVING' });
  await assert.rejects(pause(from, randomUUID()), { code: 'ERR_PROJECT_NOT_FOUND' });
  await pause(to, project.id);
  assert.notEqual(await findHalt(to, project.id), null);
});

/** Stores a project with whose keys the destination's workers sign. */
async function storeKnownProject(): Promise<Project> {
  const project = await storeProject(from);
  await storeWorkerKeys(to, project);
  return project;
}

/** Moves a project, and stops between the two commits. */
async function interruptDeparted({ id }: Project, options: MoveOptions = {}): Promise<void> {
  const stop = async (step: MoveStep) => {
    if (step === 'departed') throw new Error('interrupted');
  };
  await assert.rejects(moveProject({ from, to, clock: realClock }, id, stop, options), { message: 'interrupted' });
}

/** Settles a batch of the source: nothing of it is on chain any more. */
async function closeBatch({ id }: { readonly id: string }): Promise<void> {
  const end = { status: 'EXECUTED', finalized_at: NOW, ended_at: NOW, end_finalized_at: NOW, closed_at: NOW } as const;
  await from.updateTable('batches').set(end).where('id', '=', id).execute();
  await from.updateTable('nonces').set({ state: 'available', batch_id: null }).where('batch_id', '=', id).execute();
}

async function assertRefused(
  project: Project,
  reason: RegExp,
  onRefused: () => Promise<unknown> = none,
): Promise<void> {
  const { now, sleep } = instantClock();
  // Three attempts, instead of one each 200 ms.
  const clock = { now, sleep: () => sleep(10_000) };
  const onStep = async (step: MoveStep) => {
    if (step === 'refusing') await onRefused();
  };
  const isMeant = (error: unknown) => error instanceof MoveRefused && reason.test(error.message);
  await assert.rejects(moveProject({ from, to, clock }, project.id, onStep), isMeant);
  assert.deepEqual(await livesIn(project), ['source']);
  assert.notEqual(await findHalt(from, project.id), MOVING);
}

async function livesIn({ id: projectId }: Project): Promise<string[]> {
  const shards: [string, Db][] = [
    ['source', from],
    ['destination', to],
  ];
  const answers = await Promise.all(shards.map(([, db]) => isHere(db, { kind: 'project', projectId })));
  return shards.flatMap(([name], i) => (answers[i] ? [name] : []));
}

function signedChange({ id: projectId }: Project) {
  return {
    change: { type: 'admission', projectId, terms: null },
    operator: randomAddress(),
    nonce: randomUUID(),
    expiresAt: new Date(NOW.getTime() + 60_000),
    signedMessage: randomBytes(8),
    signature: randomBytes(64),
  } as const;
}
