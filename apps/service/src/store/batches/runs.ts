import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** The turn of one job to work on the batches of a multisig. */
export interface Run {
  readonly flywheelId: string;
  readonly number: bigint;
}

/** Another process has taken over the work while this one was delayed: this one may change nothing more. */
export class StaleRun extends Error {
  constructor({ flywheelId, number }: Run) {
    super(`Run ${number} on flywheel ${flywheelId} is over: another has begun.`);
    this.name = 'StaleRun';
  }
}

/** Begins a run, which ends every earlier one of the flywheel. */
export async function beginRun(db: Db, flywheelId: string): Promise<Run> {
  const { run_number } = await db
    .updateTable('flywheels')
    .set({ run_number: sql`run_number + 1`, served_at: sql`now()` })
    .where('id', '=', flywheelId)
    .returning('run_number')
    .executeTakeFirstOrThrow();
  return { flywheelId, number: run_number };
}

/** Prevents the next run until the transaction ends. @throws StaleRun if it has already begun. */
export async function requireRun(trx: Db, run: Run): Promise<void> {
  const current = await trx
    .selectFrom('flywheels')
    .select('id')
    .where('id', '=', run.flywheelId)
    .where('run_number', '=', run.number)
    .forShare()
    .executeTakeFirst();
  if (!current) throw new StaleRun(run);
}
