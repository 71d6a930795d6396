import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { KEEPS_STATEMENTS, type PgBouncer, startPgBouncer, WITH_PGBOUNCER } from '@flywheel/testing/pgbouncer';
import { openTestDatabase, quietLog, TEST_ROLES } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { ConfigError, parseDatabaseConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database.ts';
import { createLog } from '../../src/log.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { findForgetting, findPooler, findPoolerIssues, isSameDatabase } from '../../src/store/pooler.ts';

const database = await openTestDatabase();

describe('PgBouncer in transaction mode', WITH_PGBOUNCER, () => {
  const login = `pooled_${randomUUID().slice(0, 8)}`;
  let pgbouncer: PgBouncer;
  let own: string;
  before(async () => {
    await sql`create role ${sql.id(login)} login in role ${sql.id(TEST_ROLES.DATABASE_SERVE_ROLE)}`.execute(
      database.db,
    );
    own = database.url.replace('flywheel@', `${login}@`);
    pgbouncer = await startPgBouncer(database.url, ['flywheel', login], { max_db_connections: '2' });
  });
  after(async () => {
    await pgbouncer?.stop();
    await sql`drop role ${sql.id(login)}`.execute(database.db);
  });

  const find = (url: string) => findPooler({ connectionString: url });
  const open = (environment: Readonly<Record<string, string>>) =>
    openDatabase(parseDatabaseConfig(environment), createLog('silent'));

  it('is distinguished from PostgreSQL, also by the statements that it keeps', async () => {
    assert.equal(await find(own), null);
    const found = { keepsSessions: false, keepsStatements: KEEPS_STATEMENTS, hasTimeouts: false };
    assert.deepEqual(await find(pgbouncer.through(own)), found);
    // The server's connections are left as they were.
    await find(pgbouncer.through(own));
  });

  it('is distinguished from session mode, also if it lends its connections in turn or while others use them', async () => {
    for (const server_round_robin of ['0', '1']) {
      const started = await startPgBouncer(database.url, [login], { server_round_robin });
      const config = { connectionString: started.through(own) };
      const others = openDb({ ...config, max: 4 }, quietLog, {
        keepsSessions: false,
        keepsStatements: false,
        hasTimeouts: false,
      });
      const ending = new AbortController();
      const used = [1, 2, 3, 4].map(async () => {
        while (!ending.signal.aborted) await sql`select pg_sleep(0.002)`.execute(others);
      });
      await Promise.all([1, 2, 3, 4].map(() => sql`select pg_sleep(0.05)`.execute(others)));
      for (let i = 0; i < 5; i += 1) assert.equal((await findPooler(config))?.keepsSessions, false);
      ending.abort();
      await Promise.all(used);
      await closeDb(others);
      await started.stop();
    }
  });

  it('is distinguished from session mode, also if it lends two idle connections in turn', async (test) => {
    const settings = { server_round_robin: '1', max_db_connections: '2' };
    const inTurn = await startPgBouncer(database.url, [login], settings);
    test.after(() => inTurn.stop());
    const connectionString = inTurn.through(own);
    const pooler = { keepsSessions: false, keepsStatements: false, hasTimeouts: false };
    const both = openDb({ connectionString, max: 2 }, quietLog, pooler);
    await Promise.all([1, 2].map(() => sql`select pg_sleep(0.1)`.execute(both)));
    await closeDb(both);
    assert.equal((await find(connectionString))?.keepsSessions, false);
  });

  it('is no way to a session, so that a process does not start without one', async (test) => {
    const pooled = pgbouncer.through(own);
    const isMissing = (error: unknown) => error instanceof ConfigError && /DIRECT_URL is not set/.test(error.message);
    await assert.rejects(open({ DATABASE_URL: pooled }), isMissing);
    await assert.rejects(open({ DATABASE_URL: own, DATABASE_DIRECT_URL: pooled }), /DATABASE_DIRECT_URL, too/);
    const inSessions = await startPgBouncer(database.url, [login], { pool_mode: 'session' });
    test.after(() => inSessions.stop());
    const url = inSessions.through(own);
    assert.deepEqual(await find(url), { keepsSessions: true, keepsStatements: true, hasTimeouts: false });
    await (await open({ DATABASE_URL: url })).close();
    await (await open({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: url })).close();
  });

  it('is refused in statement mode, because the service needs transactions', async (test) => {
    const inStatements = await startPgBouncer(database.url, [login], { pool_mode: 'statement' });
    test.after(() => inStatements.stop());
    const ways = { DATABASE_URL: inStatements.through(own), DATABASE_DIRECT_URL: own };
    await assert.rejects(open(ways), /transaction blocks not allowed in statement pooling mode/);
  });

  it('takes no timeouts, so that the login needs them', async () => {
    const [warning] = findPoolerIssues(await find(pgbouncer.through(own)), null);
    assert.match(warning?.text ?? '', /no statement_timeout or no idle_in_transaction_session_timeout/);
    const role = sql`alter role ${sql.id(login)}`;
    await sql`${role} set statement_timeout = '30s'`.execute(database.db);
    await sql`${role} set idle_in_transaction_session_timeout = '60s'`.execute(database.db);
    const renewed = await startPgBouncer(database.url, [login]);
    assert.deepEqual(findPoolerIssues(await find(renewed.through(own)), null), []);
    await renewed.stop();
  });

  it('carries the statements of more clients than the server has connections', async () => {
    const pooled = { connectionString: pgbouncer.through(own) };
    const pooler = await findPooler(pooled);
    const pools = [1, 2, 3].map(() => openDb({ ...pooled, max: 3 }, quietLog, pooler));
    const read = async (i: number) => {
      const { rows } = await sql<{ twice: number }>`select ${i}::integer * 2 as twice`.execute(
        pools[i % 3] ?? database.db,
      );
      return rows[0]?.twice;
    };
    const all = Array.from({ length: 60 }, (_, i) => i);
    assert.deepEqual(
      await Promise.all(all.map(read)),
      all.map((i) => i * 2),
    );
    await Promise.all(pools.map(closeDb));
  });

  it('keeps 300 statements if max_prepared_statements allows them, and the doctor counts them', async () => {
    for (const [max, kept] of [
      ['0', null],
      ['50', /keeps (4|5)\d prepared statements/],
      ['400', undefined],
    ] as const) {
      if (!KEEPS_STATEMENTS && max !== '0') continue;
      const settings: Record<string, string> = KEEPS_STATEMENTS ? { max_prepared_statements: max } : {};
      const started = await startPgBouncer(database.url, [login], settings);
      const config = { connectionString: started.through(own) };
      const pooler = await findPooler(config);
      assert.ok(pooler);
      const [issue] = await findForgetting(config, pooler);
      if (kept === undefined) assert.equal(issue, undefined);
      else assert.match(issue?.text ?? '', kept ?? /keeps no prepared statements/);
      await started.stop();
    }
  });

  it('opens the database for a login with the rights of its role, and for no other', async () => {
    const pooled = { DATABASE_URL: pgbouncer.through(own), DATABASE_DIRECT_URL: own };
    const role = { DATABASE_SERVE_ROLE: TEST_ROLES.DATABASE_SERVE_ROLE };
    const opened = await open({ ...pooled, ...role });
    const { db, sessionConfig } = await opened.as('serve');
    await db.selectFrom('batches').select('id').execute();
    assert.equal(sessionConfig.connectionString, own);
    await opened.close();

    const other = await open({ ...pooled, DATABASE_WORK_ROLE: TEST_ROLES.DATABASE_WORK_ROLE });
    await assert.rejects(other.as('work'), /Behind a pooler a process cannot take on the role flywheel_work/);
    await other.close();
    const owner = { DATABASE_URL: pgbouncer.through(database.url), DATABASE_DIRECT_URL: database.url };
    const owning = await open({ ...owner, ...role });
    await assert.rejects(owning.as('serve'), /does not own the tables/);
    await owning.close();
  });

  it('leads to the database of DATABASE_DIRECT_URL, or the process does not start', async () => {
    const stranger = await openTestDatabase();
    const pooled = pgbouncer.through(database.url);
    assert.equal(await isSameDatabase({ connectionString: pooled }, { connectionString: database.url }), true);
    await assert.rejects(open({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: stranger.url }), /different databases/);
  });
});
