import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { test } from 'node:test';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { MIGRATIONS, migrate } from '../../src/store/migrate.ts';

const { db, poolConfig } = await openTestDatabase();
const NAMES = Object.keys(MIGRATIONS);

test('migrations are all applied, in the order of their numbers', async () => {
  const files = await readdir(new URL('../../migrations/', import.meta.url));
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

test('a database of a newer release is rejected', async () => {
  const [database] = await emptyDatabases(1);
  assert.ok(database);
  await migrate(database);
  await sql`insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`.execute(database);
  await assert.rejects(migrate(database), /9999-later/);
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
  const database = `empty_${randomUUID().replaceAll('-', '')}`;
  await sql`create database ${sql.id(database)}`.execute(db);
  return Array.from({ length: count }, () => openDb({ ...poolConfig, database }, quietLog));
}
