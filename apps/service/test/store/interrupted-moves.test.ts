import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeNonces, storeProject, storeWorkerKeys } from '@flywheel/testing/records';
import type { Project } from '../../src/model/project.ts';
import { MoveRefused, type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import type { Db } from '../../src/store/db.ts';
import { identifyShard } from '../../src/store/shards/arrival.ts';
import { isHere } from '../../src/store/shards/directory.ts';

const opened = await Promise.all([openTestDatabase(), openTestDatabase(), openTestDatabase(), openTestDatabase()]);
const [from, to, other, restored] = opened.map(({ db }) => db) as [Db, Db, Db, Db];
// The first of them creates the schema of the queue, whose rows move too.
const jobs = await Promise.all(opened.map((database) => startTestJobs(database)));
await storeNonces(from, 20);

test.after(() => Promise.all(jobs.map((each) => each.stop())));

test('an interrupted first move goes on in a destination that was restored from a backup made before it', async () => {
  const project = await storeKnownProject();
  await interruptDeparted(to, project);
  const identities = await Promise.all([to, restored].map(identifyShard));
  await assertRefused(move(restored, project), new RegExp(`${identities.join('.*')}.*--destination-restored`));
  await move(restored, project, { isDestinationRestored: true });
  assert.deepEqual(await livesIn(project), [restored]);
  await move(restored, project);
  await assertRefused(move(to, project), /It has arrived there/);
});

test('an interrupted move does not go on in another shard, whatever is said of its destination', async () => {
  await move(other, await storeKnownProject());
  const project = await storeKnownProject();
  await interruptDeparted(to, project);
  await assertRefused(move(other, project, { isDestinationRestored: true }), /so it is another shard/);
  assert.deepEqual(await livesIn(project), []);
  await move(to, project);
  assert.deepEqual(await livesIn(project), [to]);
});

test('a move that has ended says where its project has gone since', async () => {
  const project = await storeKnownProject();
  await move(to, project);
  await move(to, project);
  await interruptDeparted(other, project, to);
  const identity = await identifyShard(other);
  await assertRefused(
    move(to, project),
    new RegExp(`left for the shard with the identity ${identity}\\. That move was`),
  );
  await move(other, project, {}, to);
  await assertRefused(move(to, project), new RegExp(`left for the shard with the identity ${identity}\\.$`));
  await move(from, project, {}, other);
  await move(to, project);
  await interruptDeparted(from, project, to);
  await assertRefused(move(other, project, {}, to), /has left for the shard with the identity/);
  assert.deepEqual(await livesIn(project), []);
});

/** Stores a project with whose keys the workers of every shard sign. */
async function storeKnownProject(): Promise<Project> {
  const project = await storeProject(from);
  for (const db of [from, to, other, restored]) await storeWorkerKeys(db, project);
  return project;
}

function move(destination: Db, { id }: Project, options = {}, source = from) {
  return moveProject({ from: source, to: destination, clock: realClock }, id, async () => undefined, options);
}

/** Moves a project, and stops between the two commits. */
async function interruptDeparted(destination: Db, { id }: Project, source = from): Promise<void> {
  const stop = async (step: MoveStep) => {
    if (step === 'departed') throw new Error('interrupted');
  };
  const moving = moveProject({ from: source, to: destination, clock: realClock }, id, stop);
  await assert.rejects(moving, { message: 'interrupted' });
}

async function assertRefused(moving: Promise<unknown>, reason: RegExp): Promise<void> {
  await assert.rejects(moving, (error) => {
    assert.ok(error instanceof MoveRefused, String(error));
    assert.match(error.message, reason);
    return true;
  });
}

async function livesIn({ id: projectId }: Project): Promise<Db[]> {
  const shards = [from, to, other, restored];
  const answers = await Promise.all(shards.map((db) => isHere(db, { kind: 'project', projectId })));
  return shards.filter((_, i) => answers[i]);
}
