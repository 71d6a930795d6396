import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { openEmptyDatabase, openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { MIGRATIONS, migrate, requireMigrated } from '../../src/store/migrate.ts';

const { db, poolConfig } = await openTestDatabase();
const NAMES = Object.keys(MIGRATIONS);

test('migrations are all applied, in the order of their numbers', async () => {
  const entries = await readdir(new URL('../../migrations/', import.meta.url));
  const files = entries.filter((entry) => entry.endsWith('.ts'));
  assert.deepEqual(NAMES, files.map((file) => basename(file, '.ts')).toSorted());
});

test('three simultaneous starts on an empty database migrate it once', async () => {
  const databases = await emptyDatabases(3);
  const applied = await Promise.all(databases.map(migrate));
  assert.deepEqual(applied.flat(), NAMES);
  await Promise.all(databases.map(closeDb));
});

test('an up-to-date database is not changed', async () => {
  assert.deepEqual(await migrate(db), []);
});

test('a failing migration is named and rolled back completely', async () => {
  const [database] = await emptyDatabases(1);
  assert.ok(database);
  await sql`create table sessions (id integer)`.execute(database);
  await assert.rejects(
    migrate(database),
    /Migration 0001-projects-and-batches failed: relation "sessions" already exists/,
  );
  const { rows } = await sql`select from information_schema.tables where table_name = 'projects'`.execute(database);
  assert.equal(rows.length, 0);
  await sql`drop table sessions`.execute(database);
  assert.deepEqual(await migrate(database), NAMES);
  await closeDb(database);
});

test('a migration that fails leaves those before it applied', async () => {
  const [database] = await emptyDatabases(1);
  assert.ok(database);
  await sql`create table schema_compatibility (id integer)`.execute(database);
  await assert.rejects(migrate(database), /Migration 0033-required-migration failed/);
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
  const failed = NAMES.indexOf('0033-required-migration');
  assert.deepEqual(
    rows.map(({ name }) => name),
    NAMES.slice(0, failed),
  );
  await sql`drop table schema_compatibility`.execute(database);
  assert.deepEqual(await migrate(database), NAMES.slice(failed));
  await closeDb(database);
});

test('a database of the next release is used as it is, and one of a later release is rejected', async () => {
  const [database] = await emptyDatabases(1);
  assert.ok(database);
  await migrate(database);
  await sql`insert into kysely_migration values ('9998-next', '2030-01-01T00:00:00.000Z')`.execute(database);
  assert.deepEqual(await migrate(database), []);
  assert.deepEqual(await requireMigrated(database), ['9998-next']);

  await sql`insert into kysely_migration values ('9999-later', '2030-02-01T00:00:00.000Z')`.execute(database);
  await database.updateTable('schema_compatibility').set({ required_migration: '9998-next' }).execute();
  const refusal = /The schema is too new for this release: it has 9998-next, 9999-later\. Run the release that/;
  await assert.rejects(migrate(database), refusal);
  await assert.rejects(requireMigrated(database), refusal);
  await closeDb(database);
});

test('the statement timeout applies again after the migrations', async () => {
  const single = openDb({ ...poolConfig, max: 1 }, quietLog);
  await migrate(single);
  const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(single);
  assert.equal(rows[0]?.statement_timeout, '30s');
  await closeDb(single);
});

/** Opens pools on one database without any table. */
async function emptyDatabases(count: number): Promise<Db[]> {
  const { db: first, poolConfig: config } = await openEmptyDatabase();
  return [first, ...Array.from({ length: count - 1 }, () => openDb(config, quietLog))];
}
