import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../apps/service/src/store/db.ts';
import { addPartitions } from '../../apps/service/src/store/partitions.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** One of so many copies has failed. */
const FAILED_EVERY = 100;
/** Rows are inserted in the order of time, a part of the year after the other. */
const PARTS = 24;

/** A past that is made of copies of one batch that was executed and closed. */
export interface Past {
  /** The batch that is copied. */
  readonly batchId: string;
  /** Number of copies, evenly over the year before this moment. */
  readonly copies: number;
  readonly endpointId: string;
  /** Days before this moment of which deliveries are left. */
  readonly deliveryDays: number;
}

/** Id of copy `n` of the batch; those of `serve` are random too, so that index pages fill alike. */
export const copyId = (n: number) => uuidOf(`batch ${n}`);
export const copyKey = (n: number) => uuidOf(`key ${n}`);

/** The proof hash of a copy's pipeline, in hex. */
export function copyHash(n: number, position: number): string {
  return createHash('sha256').update(`${n}:${position}`).digest('hex');
}

/** Fills the database with copies of a batch, with all rows that belong to it. The login must be a superuser. */
export async function fillPast(db: Db, { batchId, copies, endpointId, deliveryDays }: Past): Promise<void> {
  const { rows } = await sql<{ from: Date; first: bigint; project: string }>`
    select created_at as from, batch_index as first, project_id as project from batches where id = ${batchId}
  `.execute(db);
  const [template] = rows;
  const deliveries = await sql<{ id: bigint }>`
    select id from webhook_deliveries where endpoint_id = ${endpointId}
  `.execute(db);
  if (!template) throw new Error(`There is no batch ${batchId}.`);
  const end = Date.now() - DAY_MS / 24;
  await addPastPartitions(db, new Date(end - YEAR_MS));
  const stepMs = YEAR_MS / copies;
  const at = sql`(${new Date(end - YEAR_MS)}::timestamptz + n * ${stepMs}::float8 * interval '1 millisecond')`;
  const like = (column: string) => sql`t.${sql.id(column)} - ${template.from}::timestamptz + ${at}`;
  const times = (...columns: string[]) => Object.fromEntries(columns.map((column) => [column, like(column)]));
  const ofBatch = { batch_id: uuid('batch') };
  const where = sql`batch_id = ${batchId}`;
  const recorded = { ...ofBatch, at: like('at'), recorded_at: at };
  const isLate = sql`n * ${stepMs}::float8 > ${YEAR_MS - deliveryDays * DAY_MS}::float8`;
  await db.connection().execute(async (connection) => {
    // Every row is a copy of a valid one: foreign keys need no look-up.
    await sql`set session_replication_role = replica; set synchronous_commit = off; set statement_timeout = 0`.execute(
      connection,
    );
    for (let part = 0; part < PARTS; part++) {
      const [from, to] = [part, part + 1].map((each) => Math.floor((copies * each) / PARTS));
      if (from === to) continue;
      const range = sql`generate_series(${from}::int, ${to}::int - 1) n`;
      const copy = (table: string, rows: RawBuilder<unknown>, values: Readonly<Record<string, RawBuilder<unknown>>>) =>
        copyRows(connection, table, sql`(select * from ${sql.table(table)} where ${rows}) t, ${range}`, values);
      await copy('batches', sql`id = ${batchId}`, {
        id: uuid('batch'),
        batch_index: sql`t.batch_index + n + 1`,
        idempotency_key: uuid('key'),
        status: sql`case when n % ${FAILED_EVERY}::int = 0 then 'FAILED' else t.status end`,
        // Its result says that all pipelines were executed.
        is_result_checked: sql`n % ${FAILED_EVERY}::int <> 0`,
        reserved_day: sql`(${at} at time zone 'UTC')::date`,
        ...times('created_at', 'updated_at', 'ended_at', 'closed_at', 'end_finalized_at', 'finalized_at', 'signed_at'),
        ...times('execution_began_at'),
      });
      await copy('pipelines', where, {
        ...ofBatch,
        proof_hash: sql`sha256((n || ':' || t.position)::bytea)`,
      });
      await copy('bundles', where, {
        ...ofBatch,
        bundle_id: sql`md5(n || t.bundle_id) || md5(t.bundle_id)`,
        signatures: signatures('signatures'),
        landed_signatures: signatures('landed_signatures'),
        ...times('created_at', 'settled_at'),
      });
      await copy('ledger_entries', where, { ...ofBatch, signature: signature(sql`t.signature`) });
      await copy('created_token_accounts', where, {
        ...ofBatch,
        token_account: sql`left(${signature(sql`t.token_account`)}, 44)`,
        ...times('created_at'),
      });
      await copy('batch_events', where, recorded);
      const total = sql`(multisig, batch_index) in (
        select multisig, batch_index from batches join flywheels on flywheels.id = flywheel_id where batches.id = ${batchId}
      )`;
      await copy('company_totals', total, {
        batch_index: sql`t.batch_index + n + 1`,
        day: sql`(${at} at time zone 'UTC')::date`,
      });
      const delivered = sql`id = any(${deliveries.rows.map(({ id }) => id)}::bigint[])`;
      await copyRows(
        connection,
        'webhook_deliveries',
        sql`(select * from webhook_deliveries where ${delivered}) t, ${range} where ${isLate}`,
        {
          ...{ event_id: sql`'evt_' || md5(n || t.event_id)`, recorded_at: at, ...times('created_at') },
          ...{ state: sql`'delivered'`, attempts: sql`1`, last_status: sql`200`, delivered_at: like('created_at') },
        },
      );
    }
    await sql`reset session_replication_role; reset synchronous_commit; reset statement_timeout`.execute(connection);
  });
  await sql`
    insert into daily_amounts (project_id, day, burned, airdropped)
    select ${template.project}, (${new Date(end)}::timestamptz at time zone 'UTC')::date - n, 1, 1 from generate_series(1, 365) n
  `.execute(db);
  await sql`update flywheels set last_batch_index = ${template.first + BigInt(copies)} where project_id = ${template.project}`.execute(
    db,
  );
}

/** Lets the first partition, which covers all of the past, begin with this month. */
async function addPastPartitions(db: Db, first: Date): Promise<void> {
  for (const table of ['batch_events', 'webhook_deliveries']) {
    const [whole, old] = [sql.table(table), sql.table(`${table}_first`)];
    await sql`alter table ${whole} detach partition ${old}`.execute(db);
    for (let month = 0; month <= 12; month += 4) {
      await addPartitions(db, new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month)));
    }
    await sql`insert into ${whole} overriding system value select * from ${old}; drop table ${old}`.execute(db);
  }
}

/** Inserts rows that are copies of others but for some columns. Columns that count themselves count on. */
async function copyRows(
  db: Db,
  table: string,
  from: RawBuilder<unknown>,
  values: Readonly<Record<string, RawBuilder<unknown>>>,
): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select column_name as name from information_schema.columns
    where table_schema = current_schema() and table_name = ${table} and is_identity = 'NO' order by ordinal_position
  `.execute(db);
  const names = rows.map(({ name }) => name);
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`${table} has no column ${unknown}.`);
  await sql`
    insert into ${sql.table(table)} (${sql.join(names.map((name) => sql.id(name)))})
    select ${sql.join(names.map((name) => values[name] ?? sql`t.${sql.id(name)}`))} from ${from}
  `.execute(db);
}

function uuid(prefix: string): RawBuilder<unknown> {
  return sql`overlay(overlay(md5(${sql.lit(`${prefix} `)} || n) placing '4' from 13) placing '8' from 17)::uuid`;
}

/** The same in this process: MD5 with the version and variant of a random UUID (RFC 9562). */
function uuidOf(text: string): string {
  const hex = createHash('md5').update(text).digest('hex');
  const digits = `${hex.slice(0, 12)}4${hex.slice(13, 16)}8${hex.slice(17)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** 88 characters, as a signature has. */
function signature(of: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(md5(n || ${of}) || md5(${of} || n) || left(md5(${of}), 24))`;
}

function signatures(column: string): RawBuilder<unknown> {
  return sql`(select coalesce(array_agg(${signature(sql`each`)}), '{}') from unnest(t.${sql.id(column)}) each)`;
}

/** The signature in copy `n` of a transaction of the batch. */
export function copySignature(n: number, of: string): string {
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  return `${md5(`${n}${of}`)}${md5(`${of}${n}`)}${md5(of).slice(0, 24)}`;
}
