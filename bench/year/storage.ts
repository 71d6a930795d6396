import { sql } from 'kysely';
import type { Db } from '../../apps/service/src/store/db.ts';
import { addPartitions, dropPartition } from '../../apps/service/src/store/partitions.ts';
import { timeMs } from '../figures.ts';

export interface TableSize {
  readonly table: string;
  readonly tableBytes: number;
  readonly indexBytes: number;
  readonly vacuumMs: number;
}

const TABLES = [
  ...['pipelines', 'bundles', 'ledger_entries', 'batches', 'batch_events', 'webhook_deliveries'],
  ...['created_token_accounts', 'company_totals'],
];

/** Vacuums and analyzes the tables of batches, and measures their size on disk with all partitions, the largest first. */
export async function vacuumTables(db: Db): Promise<TableSize[]> {
  const sizes: TableSize[] = [];
  for (const table of TABLES) {
    const vacuumMs = await timeMs(() => withoutTimeout(db, sql`vacuum (analyze) ${sql.table(table)}`));
    const { rows } = await sql<{ whole: number; indexes: number }>`
      select sum(pg_total_relation_size(relid))::float8 as whole, sum(pg_indexes_size(relid))::float8 as indexes
      from (
        select relid from pg_partition_tree(${table}::regclass) where isleaf union select ${table}::regclass
      ) as leaves
    `.execute(db);
    const [size] = rows;
    if (!size) throw new Error(`There is no table ${table}.`);
    sizes.push({ table, tableBytes: size.whole - size.indexes, indexBytes: size.indexes, vacuumMs });
  }
  return sizes.toSorted((a, b) => b.tableBytes + b.indexBytes - a.tableBytes - a.indexBytes);
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

async function withoutTimeout(db: Db, statement: ReturnType<typeof sql>): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`set statement_timeout = 0`.execute(connection);
    await statement.execute(connection);
    await sql`reset statement_timeout`.execute(connection);
  });
}
