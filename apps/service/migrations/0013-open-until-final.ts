import { type Kysely, sql } from 'kysely';

/** Finds the batches of a project whose end is not finalized, which init counts, without reading those that have ended. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index batches_not_final on batches (project_id) where end_finalized_at is null;
  `.execute(db);
}
