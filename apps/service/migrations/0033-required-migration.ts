import { type Kysely, sql } from 'kysely';

/**
 * Stores which releases work with the schema: those that have the named migration. The first migration of each later release
 * names the last one of the release before it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table schema_compatibility (
      only_row boolean primary key default true check (only_row),
      required_migration text not null
    );
    insert into schema_compatibility (required_migration) values ('0033-required-migration');
  `.execute(db);
}
