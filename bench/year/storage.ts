import type { Db } from '@flywheel/service/internal/store/db.ts';
import { addPartitions, dropPartition } from '@flywheel/service/internal/store/partitions.ts';
import { type QueryResult, sql } from 'kysely';
import { timeMs } from '../figures.ts';

export interface TableSize {
  readonly table: string;
  readonly tableBytes: number;
  readonly indexBytes: number;
  /** Rows that were updated or deleted and are not vacuumed. */
  readonly deadRows: number;
  /** Number and duration of the vacuums that PostgreSQL has run by itself. */
  readonly autovacuums: number;
  readonly autovacuumMs: number;
  /** Duration of a vacuum with analyze. */
  readonly vacuumMs: number;
  /** Table and indexes afterwards. */
  readonly vacuumedBytes: number;
}

const TABLES = [
  ...['pipelines', 'bundles', 'ledger_entries', 'batches', 'batch_events', 'webhook_deliveries'],
  ...['created_token_accounts', 'company_totals', 'batch_archives'],
];

/** Vacuums and analyzes the tables of batches, and measures their size on disk with all partitions, the largest first. */
export async function vacuumTables(db: Db): Promise<TableSize[]> {
  const sizes: TableSize[] = [];
  for (const table of TABLES) {
    const { rows } = await sql<
      Omit<TableSize, 'table' | 'vacuumMs' | 'tableBytes' | 'vacuumedBytes'> & { readonly bytes: number }
    >`
      select sum(pg_total_relation_size(relid))::float8 as bytes, sum(pg_indexes_size(relid))::float8 as "indexBytes",
        sum(pg_stat_get_dead_tuples(relid))::float8 as "deadRows",
        sum(pg_stat_get_autovacuum_count(relid))::float8 as autovacuums,
        sum(pg_stat_get_total_autovacuum_time(relid))::float8 as "autovacuumMs"
      from (
        select relid from pg_partition_tree(${table}::regclass) where isleaf union select ${table}::regclass
      ) as leaves
    `.execute(db);
    const [size] = rows;
    if (!size) throw new Error(`There is no table ${table}.`);
    const vacuumMs = await timeMs(() => withoutTimeout(db, sql`vacuum (analyze) ${sql.table(table)}`));
    const vacuumedBytes = await measureBytes(db, table);
    sizes.push({ ...size, table, tableBytes: size.bytes - size.indexBytes, vacuumMs, vacuumedBytes });
  }
  return sizes.toSorted((a, b) => b.tableBytes + b.indexBytes - a.tableBytes - a.indexBytes);
}

async function measureBytes(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select sum(pg_total_relation_size(relid))::float8 as bytes
    from (select relid from pg_partition_tree(${table}::regclass) union select ${table}::regclass) as leaves
  `.execute(db);
  return rows[0]?.bytes ?? Number.NaN;
}

/** A month of a table whose rows were all written once more, as those of an open batch are several times, and a vacuum. */
export interface Rewrite {
  readonly table: string;
  /** Each leaves a dead one. */
  readonly rows: number;
  readonly vacuumMs: number;
  /** Table and indexes before, after the first time, and after a second time, which reuses the room of the first. */
  readonly bytes: readonly [number, number, number];
}

/** Writes the rows of the newest month of batches and of their bundles once more, twice, with a vacuum after each time. */
export async function rewriteMonth(db: Db): Promise<Rewrite[]> {
  const month = sql`select id from batches where created_at > now() - interval '30 days'`;
  const updates = [
    { table: 'batches', update: sql`update batches set updated_at = updated_at where id in (${month})` },
    { table: 'bundles', update: sql`update bundles set settled_at = settled_at where batch_id in (${month})` },
  ];
  const rewrites: Rewrite[] = [];
  for (const { table, update } of updates) {
    const before = await measureBytes(db, table);
    const rewrite = async () => {
      const rows = Number((await withoutTimeout(db, update)).numAffectedRows ?? 0n);
      const vacuumMs = await timeMs(() => withoutTimeout(db, sql`vacuum ${sql.table(table)}`));
      return { rows, vacuumMs, bytes: await measureBytes(db, table) };
    };
    const [first, second] = [await rewrite(), await rewrite()];
    rewrites.push({ table, rows: first.rows, vacuumMs: first.vacuumMs, bytes: [before, first.bytes, second.bytes] });
  }
  return rewrites;
}

export interface IndexSize {
  readonly name: string;
  readonly bytes: number;
}

/** Lists the largest indexes of tables that are not partitioned. */
export async function findLargestIndexes(db: Db, limit: number): Promise<IndexSize[]> {
  const { rows } = await sql<IndexSize>`
    select indexrelname as name, pg_relation_size(indexrelid)::float8 as bytes from pg_stat_user_indexes
    where schemaname = current_schema() order by bytes desc limit ${limit}
  `.execute(db);
  return rows;
}

export interface Removal {
  readonly rows: number;
  readonly dropMs: number;
  readonly deleteMs: number;
  readonly vacuumMs: number;
}

/** Drops the second oldest month of events, and deletes the third oldest with the vacuum that must follow. */
export async function compareRemovals(db: Db): Promise<Removal> {
  await addPartitions(db);
  const keepDays = 30;
  const months = await sql<{ name: string; age: number }>`
    select partition_name as name, floor(extract(epoch from now() - ends_at) / 86400)::int as age
    from partitions_of('batch_events') where ends_at < now() - make_interval(days => ${keepDays}::int) order by ends_at
  `.execute(db);
  const [oldest, , deleted] = months.rows;
  if (!oldest || !deleted) throw new Error('The past has too few months.');
  // The oldest month is not a whole one.
  await dropPartition(db, 'batch_events', oldest.age);
  const count = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(deleted.name)}`.execute(db);
  const dropMs = await timeMs(() => dropPartition(db, 'batch_events', deleted.age + 1));
  const deleteMs = await timeMs(() => withoutTimeout(db, sql`delete from ${sql.table(deleted.name)}`));
  const vacuumMs = await timeMs(() => withoutTimeout(db, sql`vacuum ${sql.table(deleted.name)}`));
  return { rows: count.rows[0]?.count ?? 0, dropMs, deleteMs, vacuumMs };
}

export async function withoutTimeout(db: Db, statement: ReturnType<typeof sql>): Promise<QueryResult<unknown>> {
  return db.connection().execute(async (connection) => {
    await sql`set statement_timeout = 0`.execute(connection);
    const result = await statement.execute(connection);
    await sql`reset statement_timeout`.execute(connection);
    return result;
  });
}
