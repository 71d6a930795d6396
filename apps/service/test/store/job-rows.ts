import { sql } from 'kysely';
import type { Db } from '../../src/store/db.ts';

/** What may become of every job in the queue, as the queue's own table has it. */
const CONDITIONS = {
  failed: sql`state = 'failed', completed_on = now()`,
  abandoned: sql`state = 'active', started_on = now(), heartbeat_on = now() - interval '5 minutes'`,
  failing: sql`state = 'retry', retry_count = 40`,
  unattended: sql`start_after = now() - interval '2 minutes'`,
  running: sql`state = 'active', started_on = now(), heartbeat_on = now()`,
  completed: sql`state = 'completed', completed_on = now()`,
} as const;

export async function setJobs(db: Db, condition: keyof typeof CONDITIONS, error?: string): Promise<void> {
  const output = error === undefined ? null : JSON.stringify({ message: error });
  await sql`update jobs.job set ${CONDITIONS[condition]}, output = ${output}::jsonb`.execute(db);
}

export async function clearJobs(db: Db): Promise<void> {
  await sql`truncate jobs.job`.execute(db);
}
