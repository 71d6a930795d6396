import { sql } from 'kysely';
import type { Db } from '../db.ts';

/**
 * The jobs of a multisig run in two lanes, one job of each at a time. Lane `setup` creates batches on chain, in the order of
 * their indices. Lane `deciding` does everything else: it executes batches, ends them and closes their accounts.
 */
export type Lane = 'setup' | 'deciding';

/** The turn of one job to work on the batches of a multisig. */
export interface Run {
  readonly flywheelId: string;
  readonly lane: Lane;
  readonly number: bigint;
}

/** Another process has taken over the work while this one was delayed: this one may change nothing more. */
export class StaleRun extends Error {
  constructor({ flywheelId, lane }: Pick<Run, 'flywheelId' | 'lane'>) {
    super(`Another run of lane ${lane} has begun on flywheel ${flywheelId}.`);
    this.name = 'StaleRun';
  }
}

/**
 * Begins a run, which ends every earlier one of the flywheel in its lane.
 * @throws StaleRun for a setup, while a worker of a release without lanes may be working on the flywheel.
 */
export async function beginRun(db: Db, flywheelId: string, lane: Lane): Promise<Run> {
  const { rows } = await (lane === 'setup' ? beginSetup(flywheelId) : beginDeciding(flywheelId)).execute(db);
  const [row] = rows;
  if (!row) throw new StaleRun({ flywheelId, lane });
  return { flywheelId, lane, number: row.number };
}

const beginDeciding = (flywheelId: string) => sql<{ number: bigint }>`
  update flywheels set run_number = run_number + 1, deciding_run_number = run_number + 1, served_at = now()
  where id = ${flywheelId}
  returning run_number as number`;

/**
 * Release 0.2.0 has one lane: each of its runs increments `run_number` and leaves `deciding_run_number`. A setup waits for the
 * job of such a run, and ends the run if it has none any more. Such a run that begins later ends the setup.
 */
const beginSetup = (flywheelId: string) => sql<{ number: bigint }>`
  update flywheels f set setup_run_number = setup_run_number + 1, served_at = now(),
    run_number = run_number + (run_number <> deciding_run_number)::int,
    deciding_run_number = run_number + (run_number <> deciding_run_number)::int
  where id = ${flywheelId} and (run_number = deciding_run_number or not exists (
    select from jobs.job
    where name = 'batch' and policy = 'key_strict_fifo' and singleton_key = f.multisig and state = 'active'
  ))
  returning setup_run_number as number`;

/**
 * Prevents the next run of the lane until the transaction ends.
 * @param locksFlywheel true if the transaction changes the flywheel, or waits for those that do. Otherwise the lanes share the
 * lock: if both then changed the flywheel, each would wait for the other.
 * @throws StaleRun if the next run has already begun.
 */
export async function requireRun(
  trx: Db,
  run: Run,
  { locksFlywheel = false }: { readonly locksFlywheel?: boolean } = {},
): Promise<void> {
  const ofRun = trx
    .selectFrom('flywheels')
    .select('id')
    .where('id', '=', run.flywheelId)
    .$if(run.lane === 'deciding', (query) => query.where('run_number', '=', run.number))
    .$if(run.lane === 'setup', (query) =>
      query.where('setup_run_number', '=', run.number).whereRef('run_number', '=', 'deciding_run_number'),
    );
  const current = await (locksFlywheel ? ofRun.forNoKeyUpdate() : ofRun.forShare()).executeTakeFirst();
  if (!current) throw new StaleRun(run);
}
