import { type Kysely, sql } from 'kysely';

/** Removes the view with the names that migration 0008 replaced: processes of 0.1.0, which used it, no longer run. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    drop view vault_watch;
    update schema_compatibility set required_migration = '0033-required-migration';
  `.execute(db);
}
