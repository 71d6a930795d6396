import { type Kysely, sql } from 'kysely';

/** Remembers when the cluster had finalized the end of a batch. What has ended before is taken as finalized. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table batches add column end_finalized_at timestamptz;
    update batches set end_finalized_at = ended_at where ended_at is not null;
  `.execute(db);
}
