import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { isRepeatOf } from '../jobs/lanes.ts';

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
  const multisig = sql<Address>`(select multisig from flywheels where id = ${flywheelId})`;
  const isCancellation = isRepeatOf({ type: 'cancel', batchId, multisig });
  const { rows } = await sql`select from jobs.job where name = 'batch' and ${isCancellation} limit 1`.execute(db);
  if (rows.length > 0) throw new Cancelled(batchId);
}
