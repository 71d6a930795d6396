import { type Kysely, sql } from 'kysely';

/** Lets each of these statements read what it needs only, however many batches a project has had. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- Work that is left, and rent that is locked.
    create index batches_unclosed on batches (flywheel_id, batch_index) where closed_at is null;
    -- The largest batch before another one.
    create index batches_by_amount on batches (project_id, (burn_amount + airdrop_amount))
      where status = 'EXECUTED' and kind = 'pipelines';
    -- The batches of a day, when a cap is set in the middle of it.
    create index batches_of_day on batches (project_id, reserved_day, batch_index);
  `.execute(db);
}
