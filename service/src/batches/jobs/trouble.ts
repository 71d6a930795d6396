import type { Batch, ExecutionTrouble } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { reportTrouble } from '../../store/batches.ts';
import { inRun, type RunDeps } from '../in-run.ts';

/** Deposits and clusters take about this long to mend at the soonest. */
const RETRY_MS = 15_000;

/** Gives the request back to the caller: nothing was sent, and execute may be asked for again. */
export async function giveBack(deps: RunDeps, batch: Batch, trouble: ExecutionTrouble): Promise<void> {
  await inRun(deps, (trx) =>
    reportTrouble(trx, batch.id, trouble, { keepRequest: false, judged: batch.signedTx }, deps.clock.now()),
  );
  deps.log.info({ batchId: batch.id, code: trouble.code }, 'execution not begun');
}

/** Shows the trouble on the batch and tries again later; no job waits for a deposit. */
export async function postpone(
  deps: RunDeps,
  { flywheel }: Project,
  batch: Batch,
  trouble: ExecutionTrouble,
): Promise<void> {
  const now = deps.clock.now();
  await inRun(deps, async (trx) => {
    await reportTrouble(trx, batch.id, trouble, { keepRequest: true }, now);
    const job = { type: 'execute', batchId: batch.id, multisig: flywheel.multisig.address } as const;
    await deps.jobs.enqueue(trx, job, { startAfter: new Date(now.getTime() + RETRY_MS) });
  });
  deps.log.warn({ batchId: batch.id, code: trouble.code, retryMs: RETRY_MS }, 'execution postponed');
}
