import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

/**
 * Adds the lane in which batches are set up. `run_number` becomes the number of the newest deciding run; releases before this one
 * increment it for every run. `deciding_run_number` is the last value of it that a release with lanes wrote, so that a difference
 * shows a run of an older one. 0 differs where an older release has worked.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await lockTables(db, ['flywheels']);
  await sql`
    alter table flywheels
      add column setup_run_number bigint not null default 0,
      add column deciding_run_number bigint not null default 0;
  `.execute(db);
}
