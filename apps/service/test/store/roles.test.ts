import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { openTestDatabase, quietLog, TEST_ROLES, type TestDatabase } from '@flywheel/testing/postgres';
import { sql } from 'kysely';
import { parseDatabaseConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database.ts';
import { createLog } from '../../src/log.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { rightsOf } from '../../src/store/grants.ts';
import { findRightsIssues, provideRoles, takeOnRole } from '../../src/store/roles.ts';

const NAMES = { serve: TEST_ROLES.DATABASE_SERVE_ROLE, work: TEST_ROLES.DATABASE_WORK_ROLE };
/** Columns with a default, of a trigger, or that earlier releases wrote. A new column that is missing in grants.ts is not one of these. */
const NEVER_WRITTEN = [
  'batch_events.recorded_at',
  'batches.is_packed',
  'batches.is_result_checked',
  'bundles.pipeline_count',
  'company.only_row',
  'flywheel_owners.flywheel_id',
  'flywheel_owners.project_id',
  'flywheels.archived_at',
  'nonce_waiters.updated_at',
  'policy_sums.amount',
  'policy_sums.day',
  'policy_sums.kind',
  'policy_sums.project_id',
  'policy_sums.subject',
  'projects.moving_until',
  'schema_compatibility.only_row',
  'schema_compatibility.required_migration',
  'tokens.archived_at',
];

/** The command that moves a project writes these, with the owner's login, and the last one the function `pack_batch`. */
const TABLES_OF_THE_OWNER = ['departed_rows', 'project_arrivals', 'project_moves', 'shard_identity', 'batch_archives'];

const admin = await openTestDatabase();

/** The tables of sends, of costs, and of the facts that decide about the company's signature. */
const WRITTEN_BY_WORK = [
  ...['bundles', 'ledger_entries', 'created_token_accounts', 'daily_spending', 'key_successions', 'company_admissions'],
  ...['company_pauses', 'company_rejections', 'company_reviews', 'company_terms', 'company_totals'],
  'worker_keys',
];

describe('the rights of serve and work', () => {
  const { db } = admin;

  it('name every table of the database and every function of the owner, and nothing that it does not have', async () => {
    const { rows } = await sql<{ name: string }>`
      select case when relnamespace = 'jobs'::regnamespace then 'jobs.' else '' end || relname as name from pg_class
      where relkind in ('r', 'p', 'v', 'm', 'f')
        and not (relispartition and (relname like 'queue\_stats\_%' or relnamespace = 'public'::regnamespace))
        and relnamespace in ('public'::regnamespace, 'jobs'::regnamespace)
      order by name
    `.execute(db);
    const tables = rows.map(({ name }) => name);
    const functions = await sql<{ name: string }>`
      select 'function ' || oid::regprocedure as name from pg_proc
      where prosecdef and pronamespace = 'public'::regnamespace
    `.execute(db);
    const names = [...tables, ...functions.rows.map(({ name }) => name)].toSorted();
    assert.deepEqual([...rightsOf('serve').keys()].toSorted(), names);
    assert.deepEqual([...rightsOf('work').keys()].toSorted(), names);
  });

  it('let serve or work write every column, except those that the database or nothing writes', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname || '.' || attname as name from pg_class join pg_attribute on attrelid = pg_class.oid
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
        and attidentity = '' and relname not like 'kysely%' and relname <> all (${TABLES_OF_THE_OWNER})
        and not exists (
          select from unnest(array['flywheel_serve', 'flywheel_work']) as role, unnest(array['INSERT', 'UPDATE']) as privilege
          where has_column_privilege(role, pg_class.oid, attnum, privilege)
        )
      order by name
    `.execute(db);
    assert.deepEqual(
      rows.map(({ name }) => name),
      NEVER_WRITTEN,
    );
  });

  it('are restored when a right was revoked or another one granted, and not written when they are exact', async () => {
    assert.deepEqual(await findRightsIssues(db, NAMES), []);
    await sql`revoke select on batches from flywheel_serve`.execute(db);
    await sql`grant insert on bundles to flywheel_serve`.execute(db);
    await sql`grant update (secret_version) on webhook_endpoints to flywheel_work`.execute(db);
    // A dump without privileges restores functions with the right that PUBLIC has by default.
    await sql`grant execute on function add_partitions to public`.execute(db);
    assert.deepEqual(await findRightsIssues(db, NAMES), [
      'flywheel_serve lacks SELECT batches.',
      'flywheel_serve has more than its rights: INSERT bundles.',
      'flywheel_work has more than its rights: UPDATE webhook_endpoints (secret_version).',
      'PUBLIC, and so every role, has EXECUTE function add_partitions(timestamp with time zone).',
    ]);
    await provideRoles(db, NAMES);
    assert.deepEqual(await findRightsIssues(db, NAMES), []);
    const readVersions = () => sql`select xmin::text, relname from pg_class where relacl is not null`.execute(db);
    const { rows: before } = await readVersions();
    await provideRoles(db, NAMES);
    assert.deepEqual((await readVersions()).rows, before);
  });

  it('are exceeded by what PUBLIC has: a right on a table, or that to create objects', async () => {
    await sql`grant update (status) on batches to public`.execute(db);
    await sql`grant create on schema public to public`.execute(db);
    const [serve, work, all, ...others] = await findRightsIssues(db, NAMES);
    assert.equal(
      serve,
      'flywheel_serve may create objects in the schema public: revoke create on schema "public" from public;',
    );
    assert.match(work ?? '', /^flywheel_work may create objects in the schema public/);
    assert.equal(all, 'PUBLIC, and so every role, has UPDATE batches (status).');
    assert.deepEqual(others, []);
    await sql`revoke update (status) on batches from public`.execute(db);
    await sql`revoke create on schema public from public`.execute(db);
    assert.deepEqual(await findRightsIssues(db, NAMES), []);
  });

  it('are enough for no schema change and for none of the other role’s rows', async () => {
    const [serve, work] = [NAMES.serve, NAMES.work].map((name) => openDb(takeOnRole(admin.poolConfig, name), quietLog));
    assert.ok(serve && work);
    for (const statement of [
      'select hash from api_keys',
      'select hash from sessions',
      'select from sign_in_challenges',
      'select from registrations',
      'select from audit_log',
      "insert into batches (id) values ('00000000-0000-0000-0000-000000000000')",
      'update projects set burn_limit = 0',
      'update company_decisions set operator = operator',
      'create table mine (id integer)',
    ]) {
      await assert.rejects(sql.raw(statement).execute(work), { code: '42501' }, statement);
    }
    await closeDb(work);
    for (const statement of [
      'create table mine (id integer)',
      'alter table batches disable trigger all',
      'truncate batches cascade',
      'drop table sessions',
      "insert into bundles (batch_id) values ('00000000-0000-0000-0000-000000000000')",
      'update ledger_entries set fee_lamports = 0',
      'delete from nonces',
      'delete from audit_log',
      'update company_decisions set operator = operator',
      "update company_terms set approval_mode = 'automatic'",
      'delete from company_pauses',
      'update company_totals set burned = 0',
      "insert into company_admissions values ('multisig', now())",
      'select add_partitions()',
      "select drop_partition('batch_events', 30)",
      'delete from company_admissions',
      'update company_changes set nonce = nonce',
      "update kysely_migration set name = 'x'",
      'delete from jobs.job',
    ]) {
      await assert.rejects(sql.raw(statement).execute(serve), { code: '42501' }, statement);
    }
    await closeDb(serve);
    const writable = await sql`
      select of_table, privilege from unnest(${sql.val(WRITTEN_BY_WORK)}::text[]) as of_table,
        unnest(array['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) as privilege
      where case when privilege in ('DELETE', 'TRUNCATE') then has_table_privilege(${NAMES.serve}, of_table, privilege)
        else has_any_column_privilege(${NAMES.serve}, of_table, privilege) end
    `.execute(admin.db);
    assert.deepEqual(writable.rows, []);
  });

  it('stay as the next release has granted them, and its queues and partitions as they are, when a process of this one starts as the owner', async () => {
    const next = await openTestDatabase();
    await sql`insert into kysely_migration values ('9999-next', now())`.execute(next.db);
    await sql`alter table projects add column later text`.execute(next.db);
    await sql`grant update (later) on projects to ${sql.id(NAMES.serve)}`.execute(next.db);
    await sql`update jobs.queue set retry_delay = 7`.execute(next.db);
    const [last] = await partitionsOf(next.db);
    await sql`drop table ${sql.table(last ?? assert.fail())}`.execute(next.db);
    const partitions = await partitionsOf(next.db);
    const config = parseDatabaseConfig({ DATABASE_URL: next.url, ...TEST_ROLES });
    const { applied, as, close } = await openDatabase(config, createLog('silent'));
    assert.deepEqual(applied, []);
    const queues = await sql`select distinct retry_delay from jobs.queue`.execute(next.db);
    assert.deepEqual(queues.rows, [{ retry_delay: 7 }]);
    assert.deepEqual(await partitionsOf(next.db), partitions);
    await sql`update projects set later = 'kept'`.execute((await as('serve')).db);
    await close();
  });
});

describe('an owner that is no superuser', () => {
  const suffix = randomUUID().slice(0, 8);
  const [owner, role] = [`owner_${suffix}`, `serve_${suffix}`];
  let url: string;
  before(async () => {
    await sql`create role ${sql.id(owner)} login`.execute(admin.db);
    await sql`create database ${sql.id(owner)} owner ${sql.id(owner)}`.execute(admin.db);
    url = urlOf(admin, { user: owner, database: owner });
  });

  const open = (environment: Readonly<Record<string, string>>) => {
    return openDatabase(parseDatabaseConfig({ DATABASE_URL: url, ...environment }), createLog('silent'));
  };

  it('migrates without roles as before, and its processes have its own rights', async () => {
    const { applied, as, poolConfig, close } = await open({});
    assert.ok(applied.length > 0);
    assert.equal((await as('serve')).poolConfig, poolConfig);
    await close();
  });

  it('takes no rights from itself if it is named as a role, and says that rights do not limit it', async () => {
    await assert.rejects(open({ DATABASE_SERVE_ROLE: owner }), /Rights do not limit the role owner_/);
    await (await open({})).close();
  });

  it('says which statement an administrator must run for a role that it may not create', async () => {
    await assert.rejects(
      open({ DATABASE_SERVE_ROLE: role }),
      new RegExp(`may not create it. An administrator must run: create role "${role}" nologin;`),
    );
    await sql`create role ${sql.id(role)} nologin`.execute(admin.db);
    const { db, as, close } = await open({ DATABASE_SERVE_ROLE: role });
    assert.deepEqual(await findRightsIssues(db, { serve: role, work: null }), []);
    await assert.rejects(as('serve'), new RegExp(`An administrator must run: grant "${role}" to "${owner}";`));
    await sql`grant ${sql.id(role)} to ${sql.id(owner)}`.execute(admin.db);
    const { rows } = await sql<{ name: string }>`select current_user as name`.execute((await as('serve')).db);
    assert.equal(rows[0]?.name, role);
    await close();
  });

  it('is not needed by a process whose login has only the rights of a role: it checks the schema', async () => {
    const login = `login_${suffix}`;
    await sql`create role ${sql.id(login)} login in role ${sql.id(role)}`.execute(admin.db);
    url = urlOf(admin, { user: login, database: owner });
    const { db, applied, close } = await open({ DATABASE_SERVE_ROLE: role });
    assert.deepEqual(applied, []);
    await db.selectFrom('batches').select('id').execute();
    await close();

    const ownerDb = openDb({ ...admin.poolConfig, user: owner, database: owner }, quietLog);
    await sql`delete from kysely_migration where name = '0016-company-decisions'`.execute(ownerDb);
    await assert.rejects(
      open({}),
      /lacks 0016-company-decisions, and this login may not migrate it\. Run flywheel migrate/,
    );
    await sql`insert into kysely_migration values ('0016-company-decisions', now()), ('9999-next', now())`.execute(
      ownerDb,
    );
    await (await open({})).close();
    await sql`update schema_compatibility set required_migration = '9999-next'`.execute(ownerDb);
    await assert.rejects(open({}), /too new for this release: it has 9999-next/);
    await closeDb(ownerDb);
  });
});

describe('takeOnRole', () => {
  it('keeps the options that a URL has, which the driver prefers to its own', () => {
    const taken = takeOnRole({ connectionString: 'postgres://a@b/c?options=-c%20geqo%3Doff' }, 'r');
    assert.equal(taken.connectionString, 'postgres://a@b/c?options=-c+geqo%3Doff+-c+role%3Dr');
  });
});

function urlOf(
  { url }: TestDatabase,
  { user, database }: { readonly user: string; readonly database: string },
): string {
  const other = new URL(url);
  other.username = user;
  other.pathname = `/${database}`;
  return other.href;
}

/** Lists the partitions of the events, the last one first. */
async function partitionsOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select partition_name as name from partitions_of('batch_events') order by ends_at desc
  `.execute(db);
  return rows.map(({ name }) => name);
}
