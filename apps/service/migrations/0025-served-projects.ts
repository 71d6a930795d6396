import { type Kysely, sql } from 'kysely';

/** Stores when a worker began its last job for a project, so that workers serve the projects in turn. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table flywheels add column served_at timestamptz`.execute(db);
}
