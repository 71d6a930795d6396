import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { sql } from 'kysely';
import pg from 'pg';
import { closeDb, inTransaction, openDb, ping } from '../../src/store/db.ts';

const { db, poolConfig } = await openTestDatabase();

test('integers, days and bytes are read exactly, and the driver’s own types stay unchanged', async () => {
  const { rows } = await sql`select
    9223372036854775807::bigint as index, 18446744073709551615::numeric(20) as amount, '2026-11-21'::date as day,
    '\\x00ff'::bytea as bytes, null::bigint as nothing, 7::integer as count`.execute(db);
  assert.deepEqual(rows, [
    {
      index: 2n ** 63n - 1n,
      amount: 2n ** 64n - 1n,
      day: '2026-11-21',
      bytes: new Uint8Array([0, 255]),
      nothing: null,
      count: 7,
    },
  ]);
  assert.equal(pg.types.getTypeParser(pg.types.builtins.INT8, 'text')('1'), '1');
});

test('a connection is kept for the next request, also after a minute without one', async (t) => {
  const pool = openDb({ ...poolConfig, max: 1, application_name: 'quiet' }, { error: assert.fail });
  const readPid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(pool)).rows[0]?.pid;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const pid = await readPid();
    t.mock.timers.tick(60_000);
    assert.equal(await readPid(), pid);
    t.mock.timers.tick(300_000);
    assert.notEqual(await readPid(), pid);
  } finally {
    t.mock.timers.reset();
    await closeDb(pool);
  }
});

test('killed connections, idle or in a transaction, fail their queries and not the process', async () => {
  let losses = 0;
  const pool = openDb({ ...poolConfig, max: 1, application_name: 'killed' }, { error: () => (losses += 1) });
  const killThem = async () => {
    const before = losses;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'killed'`.execute(db);
    while (losses === before) await new Promise((resolve) => setImmediate(resolve));
  };
  const broken = pool.transaction().execute(async (trx) => {
    await ping(trx);
    await killThem();
    await ping(trx);
  });
  await assert.rejects(broken);
  await ping(pool);
  await killThem();
  await ping(pool);
  await closeDb(pool);
});

test('queries and idle transactions have a time limit', async () => {
  const settings = await Promise.all(
    ['statement_timeout', 'idle_in_transaction_session_timeout', 'application_name'].map(async (name) => {
      const { rows } = await sql<{ value: string }>`select current_setting(${name}) as value`.execute(db);
      return rows[0]?.value;
    }),
  );
  assert.deepEqual(settings, ['30s', '1min', 'flywheel']);
});

test('a nested transaction is part of the outer one', async () => {
  const failing = db.transaction().execute(async (trx) => {
    await inTransaction(trx, (inner) => storeProject(inner));
    throw new Error('later failure');
  });
  await assert.rejects(failing, /later failure/);
  const { rows } = await sql`select from projects`.execute(db);
  assert.equal(rows.length, 0);
});

test('a statement that comes again is prepared once in each connection, and its values still differ', async () => {
  const pool = openDb({ ...poolConfig, max: 1 }, { error: () => undefined });
  const double = async (value: number) => {
    const { rows } = await sql<{ doubled: number }>`select ${value}::integer * 2 as doubled`.execute(pool);
    return rows[0]?.doubled;
  };
  for (const value of [1, 2, 3, 4, 5]) assert.equal(await double(value), 2 * value);
  await assert.rejects(
    pool.transaction().execute(async (trx) => sql`select ${0}::integer / ${0}::integer`.execute(trx)),
  );
  assert.equal(await double(6), 12);
  const prepared = sql<{ statement: string; calls: bigint }>`select statement, generic_plans + custom_plans as calls
    from pg_prepared_statements`;
  assert.deepEqual((await prepared.execute(pool)).rows, [
    { statement: 'select $1::integer * 2 as doubled', calls: 4n },
  ]);
  await closeDb(pool);
});

test('statements with lists of many lengths do not fill a connection', async () => {
  const pool = openDb({ ...poolConfig, max: 1 }, { error: () => undefined });
  for (let length = 1; length <= 320; length++) {
    for (let use = 0; use < 3; use++) {
      await sql`select 1 where 1 in (${sql.join(Array(length).fill(1))})`.execute(pool);
    }
  }
  const count = sql<{ count: bigint }>`select count(*) from pg_prepared_statements`;
  assert.deepEqual((await count.execute(pool)).rows, [{ count: 300n }]);
  await closeDb(pool);
});
