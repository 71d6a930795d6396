import { type Run, requireRun } from '../store/batches/runs.ts';
import type { Db } from '../store/db.ts';
import type { WorkerDeps } from './deps.ts';

/** What work on the batches of one multisig is handed: its turn besides. */
export interface RunDeps extends WorkerDeps {
  readonly run: Run;
}

/**
 * Writes in the name of this run, or not at all: a worker that was held up until another took over changes nothing.
 * @throws StaleRun
 */
export function fencedTransaction<T>({ db, run }: RunDeps, write: (trx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await requireRun(trx, run);
    return write(trx);
  });
}
