import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { startPgBouncer, WITH_PGBOUNCER } from '@flywheel/testing/pgbouncer';
import { openTestDatabase, type TestDatabase } from '@flywheel/testing/postgres';
import { storeProject, storeWorkerKeys } from '@flywheel/testing/records';
import { parseDocument, runCommand } from './run-command.ts';

describe('flywheel move-project', () => {
  let source: TestDatabase;
  let destination: TestDatabase;
  let env: Record<string, string>;

  before(async () => {
    [source, destination] = [await openTestDatabase(), await openTestDatabase()];
    env = { DATABASE_URL: source.url, DESTINATION_DATABASE_URL: destination.url };
  });

  it('moves a project, and does nothing when it is repeated', async () => {
    const project = await storeProject(source.db);
    const { id } = project;
    await storeWorkerKeys(destination.db, project);
    const moved = parseDocument(await runCommand(['move-project', id, '--json'], env));
    assert.deepEqual(parseDocument(await runCommand(['move-project', id, '--json'], env)), moved);
    const there = await destination.db.selectFrom('projects').select('id').execute();
    assert.deepEqual(there, [{ id }]);
    const { exitCode } = await runCommand(['move-project', id, '--abandon', '--json'], env);
    assert.equal(exitCode, 1, 'it has left');
  });

  it(
    'moves from behind a pooler in transaction mode, and says what to set if the destination is behind one',
    WITH_PGBOUNCER,
    async (test) => {
      const project = await storeProject(source.db);
      const { id } = project;
      await storeWorkerKeys(destination.db, project);
      const owner = new URL(source.url).username;
      const [before, behind] = [
        await startPgBouncer(source.url, [owner]),
        await startPgBouncer(destination.url, [owner]),
      ];
      test.after(() => Promise.all([before.stop(), behind.stop()]));
      const pooled = {
        DATABASE_URL: before.through(source.url),
        DATABASE_DIRECT_URL: source.url,
        DESTINATION_DATABASE_URL: behind.through(destination.url),
      };
      const refused = await runCommand(['move-project', id, '--json'], pooled);
      const { error, message } = JSON.parse(refused.stderr);
      assert.deepEqual([refused.exitCode, error], [1, 'ERR_CONFIGURATION']);
      assert.match(message, /answers DESTINATION_DATABASE_URL.* Let it name PostgreSQL itself/);
      const around = { ...pooled, DESTINATION_DATABASE_URL: destination.url };
      parseDocument(await runCommand(['move-project', id, '--json'], around));
      assert.deepEqual(await destination.db.selectFrom('projects').select('id').where('id', '=', id).execute(), [
        { id },
      ]);
    },
  );

  it('says what is missing, and moves nothing', async () => {
    const { id } = await storeProject(source.db);
    const run = async (words: readonly string[], variables = env) => {
      const { exitCode, stderr } = await runCommand(['move-project', ...words, '--json'], variables);
      return [exitCode, JSON.parse(stderr).error];
    };
    assert.deepEqual(await run(['no-uuid']), [2, 'ERR_USAGE']);
    assert.deepEqual(await run([id, '--discard', '--abandon']), [2, 'ERR_USAGE']);
    assert.deepEqual(await run([id, '--discard', '--destination-restored', '--yes']), [2, 'ERR_USAGE']);
    assert.deepEqual(await run([randomUUID()]), [1, 'ERR_MOVE_REFUSED']);
    assert.deepEqual(await run([id]), [1, 'ERR_MOVE_REFUSED'], 'the workers of the destination do not have its keys');
    const { DATABASE_URL = '' } = env;
    assert.deepEqual(await run([id], { DATABASE_URL }), [1, 'ERR_CONFIGURATION']);
    assert.deepEqual(await run([id], { DATABASE_URL, DESTINATION_DATABASE_URL: DATABASE_URL }), [
      1,
      'ERR_MOVE_REFUSED',
    ]);
  });
});
