import { type Kysely, sql } from 'kysely';

/** Remembers in which slot a bundle landed, so that a node which has not reached that slot is not believed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table bundles add column landed_slot bigint check (landed_slot >= 0);
  `.execute(db);
}
