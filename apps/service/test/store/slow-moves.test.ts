import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { realClock } from '@flywheel/testing/clock';
import { countLockWaits, openTestDatabase } from '@flywheel/testing/postgres';
import { randomAddress, storeProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import type { Project } from '../../src/model/project.ts';
import { MoveRefused, moveProject } from '../../src/projects/move-project.ts';
import { findHalt } from '../../src/store/company/pauses.ts';
import type { Db } from '../../src/store/db.ts';
import { isHere } from '../../src/store/shards/directory.ts';

const [{ db: one }, { db: other }] = [await openTestDatabase(), await openTestDatabase()];

test('a move that goes on waits for what leaves the destination, and holds up the events of no other project', async () => {
  const project = await storeProjectThatMoves(one, other);
  const stopped = new Error('The move is interrupted.');
  const interrupt = async (step: string) => {
    if (step === 'departed') throw stopped;
  };
  await assert.rejects(moveProject({ from: one, to: other, clock: realClock }, project.id, interrupt), stopped);
  const useEvents = sql`lock table batch_events in row exclusive mode`;
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
    await sql`
      create function slow_down() returns trigger language plpgsql as $$ begin perform pg_sleep(3); return new; end $$
    `.execute(slow);
    context.after(() => sql`drop function slow_down cascade`.execute(slow));
    await sql`
      create trigger slow_down before insert on ${sql.table(table)} for each statement execute function slow_down()
    `.execute(slow);
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

async function storeProjectThatMoves(from: Db, to: Db): Promise<Project> {
  const project = await storeProject(from);
  const authority = project.flywheel.multisig.operator;
  const nonce = { address: randomAddress(), seed: randomUUID(), value: null, state: 'creating', authority } as const;
  await to.insertInto('nonces').values(nonce).execute();
  return project;
}

function livesIn({ id: projectId }: Project): Promise<boolean[]> {
  return Promise.all([one, other].map((db) => isHere(db, { kind: 'project', projectId })));
}
