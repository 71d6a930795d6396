import type { Batch, ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { recordExecutionIssue } from '../../store/batches/executions.ts';
import { StaleRun } from '../../store/batches/runs.ts';
import { DamagedRecord } from '../../store/damaged-record.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';

/** Deposits and clusters take about this long to mend at the soonest. */
const RETRY_MS = 15_000;

/**
 * Gives the request back to the caller: nothing of the execution is on chain or can land any more, and execute may be
 * asked for again. It is left alone where it has ended, or has another approval by now.
 */
export async function releaseRequest(deps: RunDeps, batch: Batch, issue: ExecutionIssue): Promise<void> {
  const reported = { keepRequest: false, judged: batch.signedTx } as const;
  await fencedTransaction(deps, (trx) => recordExecutionIssue(trx, batch.id, issue, reported, deps.clock.now()));
  deps.log.info({ batchId: batch.id, code: issue.code }, 'execution not begun');
}

/** Shows the issue on the batch and tries again later; no job waits for a deposit. */
export async function reschedule(
  deps: RunDeps,
  { flywheel }: Project,
  batch: Batch,
  issue: ExecutionIssue,
): Promise<void> {
  const now = deps.clock.now();
  await fencedTransaction(deps, async (trx) => {
    await recordExecutionIssue(trx, batch.id, issue, { keepRequest: true }, now);
    const job = { type: 'execute', batchId: batch.id, multisig: flywheel.multisig.address } as const;
    await deps.jobs.enqueue(trx, job, { startAfter: new Date(now.getTime() + RETRY_MS) });
  });
  deps.log.warn({ batchId: batch.id, code: issue.code, retryMs: RETRY_MS }, 'execution postponed');
}

/**
 * Shows on a batch why its job failed: a record that is damaged by name, whatever else as a reason of ours, which the log
 * tells. The job is run again meanwhile, so that it goes on by itself once that has mended.
 */
export async function reportFailure(deps: RunDeps, { id: batchId }: Pick<Batch, 'id'>, error: unknown): Promise<void> {
  // Whoever has taken the work over, or will, has a word of its own.
  if (error instanceof StaleRun || deps.signal.aborted) return;
  const issue: ExecutionIssue =
    error instanceof DamagedRecord
      ? { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: [error.message] } }
      : { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined };
  try {
    await fencedTransaction(deps, (trx) =>
      recordExecutionIssue(trx, batchId, issue, { keepRequest: true }, deps.clock.now()),
    );
  } catch (reportError) {
    deps.log.warn({ batchId, err: reportError }, 'issue could not be shown on the batch');
  }
}
