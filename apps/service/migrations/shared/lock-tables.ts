import { type Kysely, sql } from 'kysely';

/** Longest wait for one table. PostgreSQL looks for deadlocks after a second, so that none can form around these waits. */
const LOCK_TIMEOUT_MS = 300;
const PAUSE_MS = 200;

/**
 * Locks all tables against every other use until the end of the transaction: at once, or none of them. A migration that changes several
 * tables, or one in several statements, begins with it: processes of the previous release lock tables in other orders, and
 * a migration that waited for one table while it held another could end in a deadlock with them. So does one that changes a single
 * table which others read: behind a statement that waits for the end of a backup, every request would wait for it too.
 */
export async function lockTables(trx: Kysely<unknown>, tables: readonly string[]): Promise<void> {
  await sql`
    do $$
    begin
      set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)};
      loop
        begin
          lock table ${sql.join(tables.map((table) => sql.table(table)))} in access exclusive mode;
          exit;
        exception when lock_not_available then
          perform pg_sleep(${sql.lit(PAUSE_MS / 1_000)});
        end;
      end loop;
      set local lock_timeout = 0;
    end $$
  `.execute(trx);
}
