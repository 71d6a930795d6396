import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** A batch was cancelled while a worker executed it. */
export class Cancelled extends Error {
  constructor(batchId: string) {
    super(`Batch ${batchId} is being cancelled.`);
    this.name = 'Cancelled';
  }
}

/**
 * Requires that no job waits to cancel a batch. That job runs after the execution (decision 39): without this check it would
 * wait until everything is executed.
 * @throws Cancelled
 */
export async function requireUncancelled(
  db: Db,
  { flywheelId, batchId }: { readonly flywheelId: string; readonly batchId: string },
): Promise<void> {
  // The conditions of pg-boss's index of what waits for a key, job_i10.
  const { rows } = await sql`
    select from jobs.job
    where name = 'batch' and policy = 'key_strict_fifo' and state < 'active' and not blocked
      and singleton_key = (select multisig from flywheels where id = ${flywheelId})
      and data->>'type' = 'cancel' and data->>'batchId' = ${batchId}
    limit 1
  `.execute(db);
  if (rows.length > 0) throw new Cancelled(batchId);
}
