import type { Batch, ExecutionTrouble } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { reportTrouble } from '../../store/batches.ts';
import type { WorkerDeps } from '../deps.ts';

/** Deposits and clusters take about this long to mend at the soonest. */
const RETRY_MS = 15_000;

/** Gives the request back to the caller: nothing was sent, and execute may be asked for again. */
export async function giveBack({ db, clock, log }: WorkerDeps, batch: Batch, trouble: ExecutionTrouble): Promise<void> {
  await reportTrouble(db, batch.id, trouble, { keepRequest: false }, clock.now());
  log.info({ batchId: batch.id, code: trouble.code }, 'execution not begun');
}

/** Shows the trouble on the batch and tries again later; no job waits for a deposit. */
export async function postpone(
  { db, jobs, clock, log }: WorkerDeps,
  { flywheel }: Project,
  batch: Batch,
  trouble: ExecutionTrouble,
): Promise<void> {
  const now = clock.now();
  await db.transaction().execute(async (trx) => {
    await reportTrouble(trx, batch.id, trouble, { keepRequest: true }, now);
    const job = { type: 'execute', batchId: batch.id, multisig: flywheel.multisig.address } as const;
    await jobs.enqueue(trx, job, { startAfter: new Date(now.getTime() + RETRY_MS) });
  });
  log.warn({ batchId: batch.id, code: trouble.code, retryMs: RETRY_MS }, 'execution postponed');
}
