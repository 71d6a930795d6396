import { test } from 'node:test';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { send } from '@flywheel/testing/client';
import { realClock } from '@flywheel/testing/clock';
import { countLockWaits, openTestDatabase } from '@flywheel/testing/postgres';
import { createProject } from '@flywheel/testing/project';
import { openWorld } from '@flywheel/testing/world';
import { moveProject } from '../../src/projects/move-project.ts';

test('a request that waits for the row of a project while that leaves its shard is answered 503, to be repeated', async (t) => {
  const world = await openWorld({ WEBHOOK_KEY: Buffer.alloc(32, 1).toString('base64') });
  t.after(() => world.stop());
  const { db: to } = await openTestDatabase();
  const { projectId, cookie } = await createProject(world);
  await to
    .insertInto('worker_keys')
    .values(await world.db.selectFrom('worker_keys').selectAll().execute())
    .execute();

  const mayEnd = Promise.withResolvers<void>();
  let locking: Promise<void> | undefined;
  const lock = () => {
    const isLocked = Promise.withResolvers<void>();
    locking = world.db.transaction().execute(async (trx) => {
      await trx.selectFrom('projects').select('id').where('id', '=', projectId).forUpdate().execute();
      isLocked.resolve();
      await mayEnd.promise;
    });
    return isLocked.promise;
  };
  const untilWaiting = (expected: number) =>
    waitUntil(
      'the locks',
      () => countLockWaits(world.db),
      (count) => count === expected,
    );
  const moving = moveProject({ from: world.db, to, clock: realClock }, projectId, async (step) => {
    if (step === 'refusing') await lock();
  });
  await untilWaiting(1);
  const ask = (method: string, path: string, body: object) =>
    send(world.url, method, `/console/api/projects/${projectId}/${path}`, { headers: { cookie }, body });
  const answers = [
    ask('PUT', 'limits', { burnLimit: '1', airdropLimit: '1' }),
    ask('POST', 'webhooks', { url: 'https://example.com', events: ['batch.executed'] }),
    ask('POST', 'keys', {}),
  ];
  await untilWaiting(1 + answers.length);
  mayEnd.resolve();
  await Promise.all([locking, moving]);
  for (const answer of await Promise.all(answers)) assertError(answer, 503, 'ERR_PROJECT_MOVING');
});
