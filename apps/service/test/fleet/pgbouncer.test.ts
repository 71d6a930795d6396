import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type PgBouncer, startPgBouncer, WITH_PGBOUNCER } from '@flywheel/testing/pgbouncer';
import { openTestDatabase, TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { type Fleet, openFleet } from './fleet.ts';

const BATCHES = 6;
const PIPELINES = 8;
const REST_SECONDS = 120;

const database = await openTestDatabase();

describe('two serving and two working processes behind PgBouncer in transaction mode', WITH_PGBOUNCER, () => {
  const logins = { serve: `serve_${randomUUID().slice(0, 8)}`, work: `work_${randomUUID().slice(0, 8)}` };
  let pgbouncer: PgBouncer;
  let fleet: Fleet;
  before(async () => {
    for (const [login, role] of [
      [logins.serve, TEST_ROLES.DATABASE_SERVE_ROLE],
      [logins.work, TEST_ROLES.DATABASE_WORK_ROLE],
    ] as const) {
      await sql`create role ${sql.id(login)} login in role ${sql.id(role)}`.execute(database.db);
      await sql`alter role ${sql.id(login)} set statement_timeout = '30s'`.execute(database.db);
      await sql`alter role ${sql.id(login)} set idle_in_transaction_session_timeout = '60s'`.execute(database.db);
    }
    // Fewer connections of each login than its two processes have.
    pgbouncer = await startPgBouncer(database.url, Object.values(logins), { default_pool_size: '6' });
    const waysOf = (login: string) => {
      const direct = database.url.replace('flywheel@', `${login}@`);
      return { DATABASE_URL: pgbouncer.through(direct), DATABASE_DIRECT_URL: direct };
    };
    const openDatabase = async () => database;
    const ways = { serve: waysOf(logins.serve), work: waysOf(logins.work) };
    fleet = await openFleet({}, { openDatabase, working: 2, ...ways });
  });
  after(async () => {
    await fleet?.stop();
    await pgbouncer?.stop();
  });

  it('execute every batch once, and stream its events', async () => {
    const [first, second] = fleet.addresses;
    const projects = [
      await createProject(first, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }),
      await createProject(second, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }),
    ] as const;
    const batches: SoakBatch[] = [];
    let stream: Promise<string> | null = null;
    for (let i = 0; i < BATCHES; i += 1) {
      const [project, door, other] = i % 2 === 0 ? [projects[0], first, second] : [projects[1], second, first];
      const { batch, proposalApproveTx } = await initialize(door, project, PIPELINES);
      stream ??= readEvents(other, project.apiKey, batch.id);
      await askToExecute(other, project, batch.id, proposalApproveTx);
      batches.push({ ...batch, fate: 'executed' });
    }
    await awaitRest(first, REST_SECONDS);
    await assertExact(first, { projects, batches });
    assert.match((await stream) ?? '', /EXECUTED/);
  });

  it('leave nothing of a session in the connections that clients share', async () => {
    const { db } = database;
    const shared = await pgbouncer.serverProcesses();
    assert.ok(shared.length > 0);
    const locks = await sql`select from pg_locks where locktype = 'advisory' and pid = any(${shared})`.execute(db);
    assert.equal(locks.rows.length, 0);
    const { rows } = await sql<{ name: string; query: string; isShared: boolean }>`
      select application_name as name, query, pid = any(${shared}) as "isShared" from pg_stat_activity
      where datname = current_database() and usename = any(${Object.values(logins)})
    `.execute(db);
    const listening = rows.filter(({ query }) => query.startsWith('listen '));
    // Events in each serving process, jobs in each working one.
    assert.ok(listening.length >= 4, JSON.stringify(rows));
    assert.ok(listening.every(({ isShared, name }) => !isShared && name === 'flywheel-events'));
    assert.equal(rows.filter(({ name, isShared }) => name === 'flywheel-worker' && !isShared).length, 2);
  });
});

/** Reads the events of a batch until the stream ends. */
async function readEvents({ url }: World, key: string, batchId: string): Promise<string> {
  const answer = await fetch(`${url}/v1/flywheel/batch/${batchId}/events`, { headers: { 'x-service-api-key': key } });
  return answer.text();
}
