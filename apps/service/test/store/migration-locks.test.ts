import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openEmptyDatabase } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import type { Db } from '../../src/store/db.ts';
import { MIGRATIONS, migrate } from '../../src/store/migrate.ts';

const MODES = ['access share', 'row exclusive'] as const;

test('migrations since the previous release never wait for a table while a process that has it waits for them', async (t) => {
  await forEachTable(t, async (db, name, table) => {
    for (const mode of MODES) await assertNoDeadlock(db, name, table, mode);
  });
});

test('migrations since the previous release let others read a table while they wait for the end of a backup', async (t) => {
  await forEachTable(t, assertReadable);
});

/** Checks each migration since the previous release, and then applies it, with each existing table that it locks. */
async function forEachTable(
  t: TestContext,
  check: (db: Db, name: string, table: string) => Promise<void>,
): Promise<void> {
  const { db, close } = await openEmptyDatabase();
  t.after(close);
  await migrate(db);
  const { required_migration: last } = await db
    .selectFrom('schema_compatibility')
    .select('required_migration')
    .executeTakeFirstOrThrow();
  const names = Object.keys(MIGRATIONS);
  const since = names.slice(names.indexOf(last) + 1);
  assert.ok(since.length > 0);

  const before = await openEmptyDatabase();
  t.after(before.close);
  for (const name of names.slice(0, names.indexOf(last) + 1)) await apply(before.db, name);
  for (const name of since) {
    for (const table of await listLocked(before.db, name)) await check(before.db, name, table);
    await apply(before.db, name);
  }
}

/** Thrown to undo a transaction. */
class Undone extends Error {}

async function apply(db: Db, name: string): Promise<void> {
  await db.transaction().execute((trx) => up(trx, name));
}

async function up(trx: Db, name: string): Promise<void> {
  await MIGRATIONS[name]?.up(trx);
}

/** Lists the existing tables that a migration locks. */
async function listLocked(db: Db, name: string): Promise<string[]> {
  const existing = await listTables(db);
  return undone(db, async (trx) => {
    await up(trx, name);
    const { rows } = await sql<{ name: string }>`
      select distinct relname as name from pg_locks join pg_class on pg_class.oid = relation where pid = pg_backend_pid()
    `.execute(trx);
    return rows.map((row) => row.name).filter((each) => existing.includes(each));
  });
}

async function listTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
  `.execute(db);
  return rows.map((row) => row.name);
}

/** Runs a migration while another transaction first uses one table, and then all others. */
async function assertNoDeadlock(db: Db, name: string, table: string, mode: string): Promise<void> {
  const others = await listTables(db);
  const first = `${name}: ${table} in ${mode} mode`;
  await whileWaiting(db, { name, table, mode }, async (trx) => {
    await assert.doesNotReject(
      sql`lock table ${sql.join(others.map((each) => sql.table(each)))} in row exclusive mode`.execute(trx),
      first,
    );
  });
}

/** Longer than a migration waits for a table before it lets those behind it go first. */
const MAX_READ_MS = 5_000;

/** Reads a table while a migration waits for it, which the transaction of a backup has read. */
async function assertReadable(db: Db, name: string, table: string): Promise<void> {
  await whileWaiting(db, { name, table, mode: 'access share' }, async () => {
    const read = db.transaction().execute(async (reader) => {
      await sql`set local statement_timeout = ${sql.lit(MAX_READ_MS)}`.execute(reader);
      await sql`select from ${sql.table(table)} limit 1`.execute(reader);
    });
    await assert.doesNotReject(read, `${name}: ${table}`);
  });
}

interface Awaited {
  readonly name: string;
  readonly table: string;
  /** The lock mode in which the other transaction has the table. */
  readonly mode: string;
}

/** Runs a migration beside a transaction that has a table, and the check once the migration waits for it, if it does. */
async function whileWaiting(db: Db, { name, table, mode }: Awaited, check: (trx: Db) => Promise<void>): Promise<void> {
  let migrating: Promise<unknown> = Promise.resolve();
  await db.transaction().execute(async (trx) => {
    await sql`lock table ${sql.table(table)} in ${sql.raw(mode)} mode`.execute(trx);
    const ended = new AbortController();
    let pid = 0;
    migrating = undone(db, async (migration) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(migration);
      pid = rows[0]?.pid ?? 0;
      await up(migration, name);
    }).finally(() => ended.abort());
    while (!ended.signal.aborted && !(await isWaiting(trx, pid)));
    if (!ended.signal.aborted) await check(trx);
  });
  await assert.doesNotReject(migrating, `${name}: ${table} in ${mode} mode`);
}

/** Returns true if a connection waits for a lock, or pauses before it tries again to get some. */
async function isWaiting(db: Db, pid: number): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where pid = ${pid} and (wait_event_type = 'Lock' or wait_event = 'PgSleep')
  `.execute(db);
  return rows.length > 0;
}

async function undone<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  await db
    .transaction()
    .execute(async (trx) => {
      result = { value: await work(trx) };
      throw new Undone();
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error;
    });
  if (!result) throw new Error('The transaction ended without a result.');
  return result.value;
}
