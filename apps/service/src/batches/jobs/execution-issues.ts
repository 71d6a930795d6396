import type { Batch, Bundle, ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { findBundles } from '../../store/batches/bundles.ts';
import { recordExecutionIssue, recordHoldUp } from '../../store/batches/executions.ts';
import { StaleRun } from '../../store/batches/runs.ts';
import { DamagedRecord } from '../../store/damaged-record.ts';
import { settleBundles } from '../bundles/land.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { chargeEarly } from './complete-ledger.ts';
import { endOpen, MAX_FAILED_APPROVALS } from './end.ts';
import { awaitFinality } from './finality.ts';

/** Issue whose cause lies in the service or the cluster, not in the batch. */
export const OWN_ISSUE: ExecutionIssue = { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined };

/** Deposits and cluster outages rarely resolve sooner. */
const RETRY_MS = 15_000;

/**
 * Releases an execution request because of an issue found before the approval: execute may be requested again, and cancel
 * ends the batch at once. If a bundle was sent before, that waits until its failure is finalized, because a fork could take
 * the failure away and let it land. If anything has landed, which a fork took away, the job tries again instead. Ends the
 * batch if too many of its approvals have failed on chain. Does nothing if the batch has ended, or has received another
 * approval meanwhile.
 */
export async function releaseRequest(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  issue: ExecutionIssue,
): Promise<void> {
  await settleBundles(deps, batch, 'execution');
  const sent = await findBundles(deps.db, batch.id, 'execution');
  if (sent.length > 0) {
    const final = await awaitFinality(deps, project.flywheel.multisig, batch);
    if (final === 'incomplete' || final.status !== 'Active') return reschedule(deps, project, batch, OWN_ISSUE);
    if (sent.some(({ landedSignatures }) => landedSignatures.length > 0))
      return reschedule(deps, project, batch, issue);
    // The operator has paid for an approval that failed on chain, and the wallet may sign another one at once.
    await chargeEarly(deps, project.flywheel.multisig, batch);
    if (countFailedApprovals(sent) >= MAX_FAILED_APPROVALS) return endOpen(deps, project, batch, 'unapprovable');
  }
  const options = { keepRequest: false, judged: batch.signedTx } as const;
  await fencedTransaction(deps, (trx) => recordExecutionIssue(trx, batch.id, issue, options, deps.clock.now()));
  deps.log.info({ batchId: batch.id, code: issue.code }, 'execution request released');
}

/** Counts the approvals that failed on chain. Each is the first transaction of its bundles, of which nothing else has landed. */
function countFailedApprovals(sent: readonly Bundle[]): number {
  const onChain = sent.filter(({ landedSlot }) => landedSlot !== null);
  return new Set(onChain.map(({ signatures: [approval] }) => approval)).size;
}

/**
 * Shows the issue on the batch and enqueues its job for later, so that no job blocks while it waits for a deposit.
 * @param until when to try again; after `RETRY_MS` by default.
 */
export async function reschedule(
  deps: RunDeps,
  { flywheel }: Project,
  batch: Batch,
  issue: ExecutionIssue,
  until?: Date,
): Promise<void> {
  // An execution may be tried for days, and each attempt may cost something.
  await chargeEarly(deps, flywheel.multisig, batch);
  const now = deps.clock.now();
  const startAfter = until ?? new Date(now.getTime() + RETRY_MS);
  await fencedTransaction(deps, async (trx) => {
    await recordExecutionIssue(trx, batch.id, issue, { keepRequest: true }, now);
    const job = { type: 'execute', batchId: batch.id, multisig: flywheel.multisig.address } as const;
    await deps.jobs.enqueue(trx, job, { startAfter });
  });
  deps.log.warn({ batchId: batch.id, code: issue.code, startAfter }, 'execution rescheduled');
}

/**
 * Shows on a batch that its job failed: with the reason for a damaged record, without one for every other error, which
 * the log holds. The queue retries the job, so the batch continues once the cause is gone.
 */
export async function reportFailure(
  deps: RunDeps,
  { id: batchId, status }: Pick<Batch, 'id' | 'status'>,
  error: unknown,
): Promise<void> {
  // Another run has taken over, or will; it reports its own failures.
  if (error instanceof StaleRun || deps.signal.aborted) return;
  // The last look at a setup holds nothing up: the batch is approved and executed meanwhile.
  if (deps.run.lane === 'setup' && status !== 'AVAILABLE_TO_QUEUE') return;
  const issue: ExecutionIssue =
    error instanceof DamagedRecord
      ? { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: [error.message] } }
      : OWN_ISSUE;
  try {
    await fencedTransaction(deps, (trx) => recordHoldUp(trx, deps.run, batchId, issue, deps.clock.now()));
  } catch (reportError) {
    deps.log.warn({ batchId, err: reportError }, 'the failure of a job could not be shown on its batch');
  }
}
