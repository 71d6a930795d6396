import { sql } from 'kysely';
import pg from 'pg';
import type { Db } from './db.ts';

/** The tables whose rows are kept for a time, in partitions of one month each (migration 0032). */
export type PartitionedTable = 'batch_events' | 'webhook_deliveries';

/** Time of the database by default: rows are stored by it, and the clocks of processes may differ. */
type Present = Date | undefined;

/**
 * Adds the partitions of this month and of the three that follow.
 * @returns the names of those that were missing.
 */
export async function addPartitions(db: Db, present?: Present): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select add_partitions(${presentOr(present)}) as name`.execute(db);
  return rows.map(({ name }) => name);
}

/** The error of a partition that cannot be dropped now: others use its table, and must not wait for it. */
export class TableBusy extends Error {}

/**
 * Drops the oldest partition of a table if all its rows were stored more than `keepDays` (at least 30) ago.
 * @returns its name; null if there is none, or while deliveries in it wait.
 * @throws TableBusy if the table is not free within 1.5 s, e.g. during a backup.
 */
export async function dropPartition(
  db: Db,
  table: PartitionedTable,
  keepDays: number,
  present?: Present,
): Promise<string | null> {
  const call = sql<{ name: string | null }>`
    select drop_partition(${table}, ${keepDays}::integer, ${presentOr(present)}) as name
  `;
  const { rows } = await call.execute(db).catch((cause: unknown) => {
    if (!(cause instanceof pg.DatabaseError) || cause.code !== LOCK_NOT_AVAILABLE) throw cause;
    throw new TableBusy(`The table ${table} was not free.`, { cause });
  });
  return rows[0]?.name ?? null;
}

/**
 * Moves deliveries that still wait, e.g. for a disabled endpoint, out of partitions that are about to be dropped; at most
 * `limit`. An attempt under way keeps its row. @returns the number moved.
 */
export async function moveWaitingDeliveries(
  db: Db,
  { keepDays, limit, present }: { readonly keepDays: number; readonly limit: number; readonly present?: Present },
): Promise<number> {
  const { numAffectedRows } = await sql`
    update webhook_deliveries set recorded_at = now()
    where (endpoint_id, id) in (
      select endpoint_id, id from webhook_deliveries
      where state = 'waiting' and recorded_at < ${presentOr(present)} - make_interval(days => ${keepDays}::integer)
        and (leased_until is null or leased_until <= now())
      limit ${limit} for update skip locked
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Reads for how many seconds from now on rows can be stored: both tables have partitions until then. */
export async function readPartitionsAhead(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from least(
      (select max(ends_at) from partitions_of('batch_events')),
      (select max(ends_at) from partitions_of('webhook_deliveries'))
    ) - now())::float8 as seconds
  `.execute(db);
  return rows[0]?.seconds ?? 0;
}

/** PostgreSQL, "Error Codes": `lock_not_available`. */
const LOCK_NOT_AVAILABLE = '55P03';

function presentOr(present: Present) {
  return present === undefined ? sql`now()` : sql`${present}::timestamptz`;
}
