import { createHash } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { addPartitions } from '@flywheel/service/internal/store/partitions.ts';
import { type RawBuilder, sql } from 'kysely';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** One of so many copies has failed. */
const FAILED_EVERY = 100;
/** Rows are inserted in the order of time, so many batches with a statement. */
const BATCHES_AT_ONCE = 1_000;
/** Copies are made on so many connections at a time, the cores of a small machine. */
const CONNECTIONS = 2;

/** A batch that was executed and closed, and the pipelines of its request. */
export interface Template {
  readonly batchId: string;
  readonly pipelines: readonly Pipeline[];
  /** It is copied so often in a row of `CYCLE` copies. */
  readonly weight: number;
}

/** A past that is made of copies of a few batches. */
export interface Past {
  /** The batches of one project that are copied, the weights of which make a `CYCLE`. */
  readonly templates: readonly Template[];
  /** Numbers of the copies, which no other past of the database has: from the first one on, evenly over the year before this moment. */
  readonly first: number;
  readonly copies: number;
  readonly endpointId: string;
  /** Days before this moment of which deliveries are left. */
  readonly deliveryDays: number;
  /** No copy begins later: what is made until then is the first part of the year. No limit by default. */
  readonly limitMs?: number;
}

/** After so many copies the templates follow each other again in the same order. */
export const CYCLE = 20;

/** Id of copy `n` of a batch; those of `serve` are random too, so that index pages fill alike. */
export const copyId = (n: number) => uuidOf(`batch ${n}`);
export const copyKey = (n: number) => uuidOf(`key ${n}`);

/** The proof hash of a copy's pipeline, in hex. */
export function copyHash(n: number, position: number): string {
  return createHash('sha256').update(`${n}:${position}`).digest('hex');
}

/** The template of copy `n`. */
export function templateOf(templates: readonly Template[], n: number): Template {
  const place = n % CYCLE;
  const template = templates.find((_each, i) => place < sumWeights(templates.slice(0, i + 1)));
  if (!template) throw new Error(`The weights of the templates make no ${CYCLE}.`);
  return template;
}

/** Number of pipelines of the copies from one number on, up to another. */
export function countPipelines(templates: readonly Template[], from: number, to: number): number {
  let pipelines = 0;
  for (let n = from; n < to; n++) pipelines += templateOf(templates, n).pipelines.length;
  return pipelines;
}

function sumWeights(templates: readonly Template[]): number {
  return templates.reduce((sum, { weight }) => sum + weight, 0);
}

/**
 * Fills the database with copies of batches, with all rows that belong to them. The login must be a superuser.
 * @param onProgress is called with the number of copies that are made.
 * @returns the number of copies.
 */
export async function fillPast(db: Db, past: Past, onProgress: (copies: number) => void): Promise<number> {
  const { templates, first, copies, endpointId, limitMs = Number.POSITIVE_INFINITY } = past;
  const started = performance.now();
  const sources: Source[] = [];
  for (const template of templates) {
    const { rows } = await sql<Omit<Source, 'template'>>`
      select batches.project_id as "projectId", flywheels.id as "flywheelId", last_batch_index as "lastIndex",
        created_at as "createdAt", array(
          select id from webhook_deliveries
          where endpoint_id = ${endpointId} and payload like '%' || ${template.batchId}::text || '%'
        ) as "deliveryIds"
      from batches join flywheels on flywheels.id = flywheel_id where batches.id = ${template.batchId}
    `.execute(db);
    sources.push(...rows.map((row) => ({ ...row, template })));
  }
  const [source] = sources;
  if (!source || sources.length < templates.length) throw new Error('A batch to copy is missing.');
  const endMs = Date.now() - DAY_MS / 24;
  let made = 0;
  let next = first;
  const copyOnOneConnection = () =>
    db.connection().execute(async (connection) => {
      // Every row is a copy of a valid one: foreign keys need no look-up.
      await sql`set session_replication_role = replica; set statement_timeout = 0; set jit = off`.execute(connection);
      while (next < first + copies && performance.now() - started < limitMs) {
        const from = next;
        next = Math.min(first + copies, from + BATCHES_AT_ONCE);
        const to = next;
        for (const each of sources) await copySource(connection, each, past, { from, to, endMs });
        made += to - from;
        onProgress(made);
      }
      await sql`reset session_replication_role; reset statement_timeout; reset jit`.execute(connection);
    });
  await Promise.all(Array.from({ length: CONNECTIONS }, copyOnOneConnection));
  await sql`
    insert into daily_amounts (project_id, day, burned, airdropped)
    select ${source.projectId}, (${new Date(endMs)}::timestamptz at time zone 'UTC')::date - n, 1, 1 from generate_series(1, 365) n
  `.execute(db);
  await sql`update flywheels set last_batch_index = last_batch_index + ${made} where id = ${source.flywheelId}`.execute(
    db,
  );
  return made;
}

/** A batch to copy, and its project before the copies. */
interface Source {
  readonly template: Template;
  readonly projectId: string;
  readonly flywheelId: string;
  readonly lastIndex: bigint;
  readonly createdAt: Date;
  readonly deliveryIds: readonly bigint[];
}

interface Part {
  readonly from: number;
  readonly to: number;
  /** The year ends here. */
  readonly endMs: number;
}

async function copySource(
  connection: Db,
  { template, lastIndex, createdAt, deliveryIds }: Source,
  { templates, first, copies, deliveryDays }: Past,
  { from, to, endMs }: Part,
): Promise<void> {
  const { batchId } = template;
  const stepMs = YEAR_MS / copies;
  const sinceStart = sql`(n - ${first}::int) * ${stepMs}::float8`;
  const at = sql`(${new Date(endMs - YEAR_MS)}::timestamptz + ${sinceStart} * interval '1 millisecond')`;
  const like = (column: string) => sql`t.${sql.id(column)} - ${createdAt}::timestamptz + ${at}`;
  const times = (...columns: string[]) => Object.fromEntries(columns.map((column) => [column, like(column)]));
  const places = Array.from({ length: CYCLE }, (_, n) => n).filter((n) => templateOf(templates, n) === template);
  const range = sql`(
    select n from generate_series(${from}::int, ${to}::int - 1) n where n % ${CYCLE}::int = any(${places}::int[])
  ) copies`;
  const copy = (table: string, of: RawBuilder<unknown>, values: Readonly<Record<string, RawBuilder<unknown>>>) =>
    copyRows(connection, table, sql`(select * from ${sql.table(table)} where ${of}) t, ${range}`, values);
  const where = sql`batch_id = ${batchId}`;
  const ofBatch = { batch_id: uuid('batch') };
  const batchIndex = sql`${lastIndex}::bigint + 1 + n - ${first}::int`;
  await copy('batches', sql`id = ${batchId}`, {
    id: uuid('batch'),
    batch_index: batchIndex,
    idempotency_key: uuid('key'),
    status: sql`case when n % ${FAILED_EVERY}::int = 0 then 'FAILED' else t.status end`,
    // Its result says that all pipelines were executed.
    is_result_checked: sql`n % ${FAILED_EVERY}::int <> 0`,
    reserved_day: sql`(${at} at time zone 'UTC')::date`,
    ...times('created_at', 'updated_at', 'ended_at', 'closed_at', 'end_finalized_at', 'finalized_at', 'signed_at'),
    ...times('execution_began_at'),
  });
  await copy('pipelines', where, { ...ofBatch, proof_hash: sql`sha256((n || ':' || t.position)::bytea)` });
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
  await copy('batch_events', where, { ...ofBatch, at: like('at'), recorded_at: at });
  const total = sql`(multisig, batch_index) in (
    select multisig, batch_index from batches join flywheels on flywheels.id = flywheel_id where batches.id = ${batchId}
  )`;
  await copy('company_totals', total, { batch_index: batchIndex, day: sql`(${at} at time zone 'UTC')::date` });
  const delivered = sql`id = any(${deliveryIds}::bigint[]) and ${sinceStart} > ${YEAR_MS - deliveryDays * DAY_MS}::float8`;
  await copyRows(connection, 'webhook_deliveries', sql`webhook_deliveries t, ${range} where ${delivered}`, {
    ...{ event_id: sql`'evt_' || md5(n || t.event_id)`, recorded_at: at, ...times('created_at') },
    ...{ state: sql`'delivered'`, attempts: sql`1`, last_status: sql`200`, delivered_at: like('created_at') },
  });
}

/** Lets the first partition, which covers all of the past, begin with this month, and adds those of the year before. */
export async function addPastPartitions(db: Db): Promise<void> {
  const first = new Date(Date.now() - YEAR_MS - DAY_MS);
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
