import type { Batch, ExecutionTrouble } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { reportTrouble } from '../../store/batches/executions.ts';
import { StaleRun } from '../../store/batches/runs.ts';
import { DamagedRecord } from '../../store/damaged-record.ts';
import { inRun, type RunDeps } from '../in-run.ts';

/** Deposits and clusters take about this long to mend at the soonest. */
const RETRY_MS = 15_000;

/**
 * Gives the request back to the caller: nothing of the execution is on chain or can land any more, and execute may be
 * asked for again. It is left alone where it has ended, or has another approval by now.
 */
export async function giveBack(deps: RunDeps, batch: Batch, trouble: ExecutionTrouble): Promise<void> {
  const reported = { keepRequest: false, judged: batch.signedTx } as const;
  await inRun(deps, (trx) => reportTrouble(trx, batch.id, trouble, reported, deps.clock.now()));
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

/**
 * Shows on a batch why its job failed: a record that is damaged by name, whatever else as a reason of ours, which the log
 * tells. The job is run again meanwhile, so that it goes on by itself once that has mended.
 */
export async function reportFailure(deps: RunDeps, { id: batchId }: Pick<Batch, 'id'>, error: unknown): Promise<void> {
  // Whoever has taken the work over, or will, has a word of its own.
  if (error instanceof StaleRun || deps.signal.aborted) return;
  const trouble: ExecutionTrouble =
    error instanceof DamagedRecord
      ? { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: [error.message] } }
      : { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined };
  try {
    await inRun(deps, (trx) => reportTrouble(trx, batchId, trouble, { keepRequest: true }, deps.clock.now()));
  } catch (reportError) {
    deps.log.warn({ batchId, err: reportError }, 'trouble could not be shown on the batch');
  }
}
