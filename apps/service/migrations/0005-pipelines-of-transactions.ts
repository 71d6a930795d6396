import { type Kysely, sql } from 'kysely';

/** A transaction may execute several pipelines: how many each of a bundle's does. The sum alone is written no more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table bundles add column pipeline_counts integer[] not null default '{}';
    alter table bundles alter column pipeline_count set default 0;
  `.execute(db);
}
