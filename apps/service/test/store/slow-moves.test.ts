import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { instantClock, realClock } from '@flywheel/testing/clock';
import { countLockWaits, openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject, storeWorkerKeys } from '@flywheel/testing/records';
import { sql } from 'kysely';
import type { Project } from '../../src/model/project.ts';
import { MoveRefused, moveProject } from '../../src/projects/move-project.ts';
import { findHalt } from '../../src/store/company/pauses.ts';
import type { Db } from '../../src/store/db.ts';
import { isHere } from '../../src/store/shards/directory.ts';

const [{ db: one }, { db: other }] = [await openTestDatabase(), await openTestDatabase()];
const useEvents = sql`lock table batch_events in row exclusive mode`;

test('two projects change places at the same time: their moves do not wait for each other', async (context) => {
  const [there, back] = [await storeProjectThatMoves(one, other), await storeProjectThatMoves(other, one)];
  // Both moves have taken out the events by then.
  for (const db of [one, other]) await slowDown(context, db, { table: 'departed_rows', rows: 'projects', seconds: 1 });
  let waiting = 0;
  const isReady = Promise.withResolvers<void>();
  const onStep = async (step: string) => {
    if (step !== 'refusing') return;
    waiting += 1;
    if (waiting === 2) isReady.resolve();
    await isReady.promise;
  };
  await Promise.all([
    moveProject({ from: one, to: other, clock: realClock, random: () => 0 }, there.id, onStep),
    moveProject({ from: other, to: one, clock: realClock, random: () => 0.9 }, back.id, onStep),
  ]);
  assert.deepEqual(await livesIn(there), [false, true]);
  assert.deepEqual(await livesIn(back), [true, false]);
});

test('a move that another one holds up begins again after pauses of random length', async () => {
  const project = await storeProjectThatMoves(one, other);
  const leaving = await other.startTransaction().execute();
  await useEvents.execute(leaving);
  const { now, sleep, sleeps } = instantClock();
  const clock = {
    now,
    sleep: async (ms: number) => {
      await sleep(ms);
      if (sleeps.length === 3) await leaving.commit().execute();
    },
  };
  const numbers = [0, 0.5];
  const random = () => numbers.shift() ?? 1;
  await moveProject({ from: one, to: other, clock, random }, project.id, async () => undefined);
  assert.deepEqual(sleeps, [1_000, 200, 450]);
});

test('a move that goes on waits for what leaves the destination, and holds up the events of no other project', async () => {
  const project = await storeProjectThatMoves(one, other);
  const stopped = new Error('The move is interrupted.');
  const interrupt = async (step: string) => {
    if (step === 'departed') throw stopped;
  };
  await assert.rejects(moveProject({ from: one, to: other, clock: realClock }, project.id, interrupt), stopped);
  const leaving = await other.startTransaction().execute();
  await useEvents.execute(leaving);
  const moving = moveProject({ from: one, to: other, clock: realClock }, project.id, async () => undefined);
  await waitUntil(
    'the lock',
    () => countLockWaits(other),
    (count) => count === 1,
  );
  await other.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = '10s'`.execute(trx);
    await useEvents.execute(trx);
  });
  await leaving.commit().execute();
  await moving;
  assert.deepEqual(await livesIn(project), [false, true]);
});

for (const [name, slow, table] of [
  ['that take long to leave', one, 'departed_rows'],
  ['that take long to arrive', other, 'projects'],
] as const) {
  test(`a project with rows ${name} stays, and takes work again when its time is over`, async (context) => {
    const project = await storeProjectThatMoves(one, other);
    await slowDown(context, slow, { table, seconds: 3 });
    const shorten = async (step: string) => {
      if (step !== 'refusing') return;
      const movingUntil = sql<Date>`clock_timestamp() + interval '2 seconds'`;
      await one.updateTable('projects').set({ moving_until: movingUntil }).where('id', '=', project.id).execute();
    };
    await assert.rejects(
      moveProject({ from: one, to: other, clock: realClock }, project.id, shorten),
      (error) => error instanceof MoveRefused && /takes work again\. Its rows take longer/.test(error.message),
    );
    assert.deepEqual(await livesIn(project), [true, false]);
    assert.equal(await findHalt(one, project.id), null);
  });
}

/** Makes inserts into a table take long until the test has ended; with `rows` those of departed rows of that table only. */
async function slowDown(
  context: TestContext,
  db: Db,
  { table, rows, seconds }: { readonly table: string; readonly rows?: string; readonly seconds: number },
): Promise<void> {
  const when = rows === undefined ? sql`` : sql`when (new.table_name = ${sql.lit(rows)})`;
  await sql`
    create function slow_down() returns trigger language plpgsql as $$
      begin perform pg_sleep(${sql.lit(seconds)}); return new; end
    $$
  `.execute(db);
  context.after(() => sql`drop function slow_down cascade`.execute(db));
  await sql`
    create trigger slow_down before insert on ${sql.table(table)} for each row ${when} execute function slow_down()
  `.execute(db);
}

async function storeProjectThatMoves(from: Db, to: Db): Promise<Project> {
  const project = await storeProject(from);
  await storeWorkerKeys(to, project);
  return project;
}

function livesIn({ id: projectId }: Project): Promise<boolean[]> {
  return Promise.all([one, other].map((db) => isHere(db, { kind: 'project', projectId })));
}
