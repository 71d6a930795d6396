import { type Kysely, sql } from 'kysely';

/**
 * A transaction may execute several pipelines: stores the count of each transaction of a bundle. The sum alone is no
 * longer written.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table bundles add column pipeline_counts integer[] not null default '{}';
    alter table bundles alter column pipeline_count set default 0;
  `.execute(db);
}
