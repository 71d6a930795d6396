import { type Kysely, sql } from 'kysely';

/** Adds the index by which the company reads the audit log of all projects in the order of its times. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index audit_log_by_time on audit_log (at desc, id desc)`.execute(db);
}
