import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { openEmptyDatabase } from '@flywheel/testing/postgres';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import pgBoss from 'pg-boss/package.json' with { type: 'json' };
import { isAdmitted } from '../../src/store/company/changes.ts';
import { findTerms } from '../../src/store/company/terms.ts';
import { closeDb, type Db } from '../../src/store/db.ts';
import { MIGRATIONS } from '../../src/store/migrate.ts';

/** The last migration before the first release. */
const FIRST_RELEASED = '0005-pipelines-of-transactions';

/**
 * Changes other than additions that a migration may make while processes of the previous release keep running
 * (docs/operating.md, Upgrading). Each states why the reads and writes of those processes stay valid.
 */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'batches_project_id_idempotency_key_key is gone': 'a wider one took its place: what it refused, that refuses as well',
  'batches_idempotency_key is new on batches': 'the column that widens it has a default, the same for all they write',
  'company_decision is new on batches': 'both of its columns are null in what they write',
  'batches_open_rotation is new on batches': 'holds for a kind that they never write',
  'batches_execute_result_counts is new on batches': 'refuses only results that cannot be true',
  'only_recovered_operators_are_lost is new on flywheels': 'the column is null in what they write',
  'flywheels_of_project is new on flywheels': 'its column id alone is unique already, so it refuses nothing',
  'batch_events_pkey is gone': 'the database numbers the events, and nothing looks one up by its number alone',
  'webhook_deliveries_endpoint_id_event_id_key is gone': 'an event id is random, and each event is queued once',
  'vault_watch.project_id is gone': 'only 0.1.0 uses the view',
  'vault_watch.look_at is gone': 'the same',
  'vault_watch.told_at is gone': 'the same',
  'vault_watch_pkey is gone': 'the table that the view vault_watch shows has the same primary key under another name',
};

describe('a project of a release before migration 0008', () => {
  const PROJECT_ID = '2b8f8c39-6a5e-4c21-8c05-0f6f1a3f8d01';
  const [SCHEDULED_AT, NOTIFIED_AT] = [new Date('2026-11-20T10:00:00Z'), new Date('2026-11-19T10:00:00Z')];
  let db: Db;
  before(async () => {
    ({ db } = await openEmptyDatabase());
    const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
    assert.ifError((await migrator.migrateTo('0007-webhooks')).error);
    await sql`
      insert into projects (id, wallet, scopes, burn_limit, airdrop_limit, created_at)
      values (${PROJECT_ID}, 'wallet', '{burn}', 1, 1, now())
    `.execute(db);
    await sql`
      insert into vault_watch (project_id, look_at, told_at) values (${PROJECT_ID}, ${SCHEDULED_AT}, ${NOTIFIED_AT})
    `.execute(db);
    await sql`
      insert into flywheels
        (id, project_id, multisig, vault, vault_index, operator, company, wallet, lookup_table, lookup_table_addresses)
      values (${randomUUID()}, ${PROJECT_ID}, 'multisig', 'vault', 0, 'operator', 'company', 'wallet', 'table', '{}')
    `.execute(db);
    await sql`
      insert into tokens (id, project_id, mint, decimals, program_address)
      values (${randomUUID()}, ${PROJECT_ID}, 'mint', 6, 'program')
    `.execute(db);
    assert.ifError((await migrator.migrateTo('0033-required-migration')).error);
  });
  after(() => closeDb(db));

  const readCheck = () => db.selectFrom('vault_balance_checks').selectAll().executeTakeFirstOrThrow();

  it('is admitted by migration 0021', async () => {
    assert.equal(await isAdmitted(db, 'multisig' as Address), true);
  });

  it('has its terms recorded by migration 0023, so that later changes of its row do not choose them', async () => {
    const terms = { approvalMode: 'automatic', burnBaseUnits: 1n, airdropBaseUnits: 1n };
    assert.deepEqual(await findTerms(db, 'multisig' as Address, { isKept: true }), terms);
  });

  it('keeps its check of the vault’s balance under the new names', async () => {
    assert.deepEqual(await readCheck(), {
      project_id: PROJECT_ID,
      next_check_at: SCHEDULED_AT,
      notified_at: NOTIFIED_AT,
    });
  });

  // These are the statements of 0.1.0.
  it('is checked by release 0.1.0 under the old names until migration 0034', async () => {
    const [asked, until, notified] = ['2026-11-21T10:00:00Z', '2026-11-21T10:00:30Z', '2026-11-21T10:00:05Z'].map(
      (time) => new Date(time),
    );
    await sql`
      insert into vault_watch (project_id, look_at) select ${PROJECT_ID}, ${asked}::timestamptz
      on conflict (project_id) do update set look_at = excluded.look_at
      returning project_id
    `.execute(db);
    assert.deepEqual((await readCheck()).next_check_at, asked);
    const taken = await sql<{ project_id: string }>`
      update vault_watch set look_at = ${until}
      where project_id in (
        select project_id from vault_watch where look_at <= ${asked} order by look_at limit 10 for update skip locked
      )
      returning project_id
    `.execute(db);
    assert.deepEqual(taken.rows, [{ project_id: PROJECT_ID }]);
    await sql`
      with before as (select told_at from vault_watch where project_id = ${PROJECT_ID} for update)
      update vault_watch set look_at = case when look_at = ${until} then null else look_at end,
        told_at = case when before.told_at > ${asked} then before.told_at else ${notified} end
      from before where project_id = ${PROJECT_ID}
      returning before.told_at is null or before.told_at <= ${asked} as is_news
    `.execute(db);
    assert.deepEqual(await readCheck(), { project_id: PROJECT_ID, next_check_at: null, notified_at: notified });
  });
});

describe('a migration during a rolling upgrade', () => {
  let db: Db;
  let migrator: Migrator;
  before(async () => {
    ({ db } = await openEmptyDatabase());
    migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
    await migrateTo(FIRST_RELEASED);
  });
  after(() => closeDb(db));

  const later = Object.keys(MIGRATIONS).filter((name) => name > FIRST_RELEASED);
  const used = new Set<string>();
  for (const name of later) {
    it(`only adds to what the previous release reads and writes: ${name}`, async () => {
      const old = await readSchema();
      await migrateTo(name);
      const changes = compare(old, await readSchema());
      for (const change of changes) if (change in EXCEPTIONS) used.add(change);
      assert.deepEqual(
        changes.filter((change) => !(change in EXCEPTIONS)),
        [],
      );
    });
  }

  // A process of the previous release refuses to start on another version, so that there would be no step back.
  it('leaves the queue in the version of the previous release', () => {
    assert.equal(pgBoss.pgboss.schema, 43);
  });

  it('has no unused exception', () => {
    assert.deepEqual([...used].toSorted(), Object.keys(EXCEPTIONS).toSorted());
  });

  async function migrateTo(name: string): Promise<void> {
    const { error } = await migrator.migrateTo(name);
    assert.ifError(error);
  }

  async function readSchema(): Promise<Schema> {
    const columns = await sql<Column>`
      select table_name || '.' || column_name as name, table_name as "table", udt_name as type,
        is_nullable = 'YES' as "isNullable",
        column_default is not null or is_identity = 'YES' or is_generated = 'ALWAYS' as "hasDefault"
      from information_schema.columns where table_schema = 'public'
    `.execute(db);
    // Checks, unique and exclusion constraints; unique indexes that are no constraint.
    const rules = await sql<Rule>`
      select conname as name, conrelid::regclass::text as "table" from pg_constraint
      where connamespace = 'public'::regnamespace and contype in ('c', 'u', 'x')
      union
      select indexrelid::regclass::text, indrelid::regclass::text from pg_index
      where indisunique and indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
    `.execute(db);
    return { columns: columns.rows, rules: rules.rows };
  }
});

interface Column {
  /** Table and column, e.g. `batches.kind`. */
  readonly name: string;
  readonly table: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly hasDefault: boolean;
}

interface Rule {
  readonly name: string;
  readonly table: string;
}

interface Schema {
  readonly columns: readonly Column[];
  readonly rules: readonly Rule[];
}

/** Lists the parts of the new schema that would reject or hide what a process of the old one writes or reads. */
function compare(old: Schema, now: Schema): string[] {
  const columns = new Map(now.columns.map((column) => [column.name, column]));
  const known = new Set(old.columns.map(({ name }) => name));
  const tables = new Set(old.columns.map(({ table }) => table));
  const oldRules = new Set(old.rules.map(({ name }) => name));
  const newRules = new Set(now.rules.map(({ name }) => name));
  return [
    ...old.columns.flatMap((before) => {
      const column = columns.get(before.name);
      if (!column) return [`${before.name} is gone`];
      if (column.type !== before.type) return [`${before.name} was ${before.type} and is ${column.type}`];
      return before.isNullable && !column.isNullable ? [`${before.name} must be given now`] : [];
    }),
    ...now.columns
      .filter(({ name, table, isNullable, hasDefault }) => {
        return tables.has(table) && !known.has(name) && !isNullable && !hasDefault;
      })
      .map(({ name }) => `${name} is new and must be given`),
    ...old.rules.filter(({ name }) => !newRules.has(name)).map(({ name }) => `${name} is gone`),
    ...now.rules
      .filter(({ name, table }) => tables.has(table) && !oldRules.has(name) && !isOfOneNewColumn(name, table))
      .map(({ name, table }) => `${name} is new on ${table}`),
  ];

  /**
   * Detects the check of a single new column, which PostgreSQL names after it. A statement that never writes that
   * column passes it.
   */
  function isOfOneNewColumn(rule: string, table: string): boolean {
    return [...columns.values()].some(
      ({ name }) => !known.has(name) && rule === `${table}_${name.slice(table.length + 1)}_check`,
    );
  }
}
