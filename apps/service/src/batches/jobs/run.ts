import { type Batch, isFinal } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { findBatch } from '../../store/batches/batches.ts';
import { askCompany } from '../../store/company/approvals.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import { settleBundles } from '../bundles/land.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { approve } from './approve.ts';
import { end } from './end.ts';
import { reschedule } from './execution-issues.ts';
import { explainFailure } from './explain-failure.ts';
import { landNext, type Next } from './land-next.ts';
import { readProgress } from './progress.ts';
import { setUpBatch } from './setup.ts';

/** So many bundles in a row that neither landed nor say why: the cluster is in trouble, and later is better than now. */
const MAX_FRUITLESS_BUNDLES = 5;

/**
 * Approves a batch whose execution was asked for, and executes it to its end. The chain’s cursor says what is left, so
 * it may be repeated at any moment and by any process; the chain refuses to execute a pipeline twice.
 * @throws Paused
 */
export async function runBatch(deps: RunDeps, project: Project, requested: Batch): Promise<void> {
  const { multisig } = project.flywheel;
  if (requested.status === 'AVAILABLE_TO_QUEUE') await setUpBatch(deps, project, requested);
  const batch = await findBatch(deps.db, requested.id);
  if (!batch || isFinal(batch.status) || batch.signedTx === null) return;
  // Whoever approves for the company has it executed.
  if (await fencedTransaction(deps, (trx) => askCompany(trx, batch.id, deps.clock.now()))) return;
  const paused = { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined } as const;
  if (batch.status === 'AVAILABLE_TO_QUEUE') return reschedule(deps, project, batch, paused);
  await settleBundles(deps, batch);
  const computeUnits = new Map<number, number>();
  let singleUntil = 0;
  for (let fruitless = 0; ; ) {
    const { status, executed, approved } = await readProgress(deps, multisig, batch);
    if (executed === batch.pipelines.length) {
      await settleBundles(deps, batch);
      return end(deps, project, batch, { event: 'EXECUTION_LANDED', executed, failure: null });
    }
    if (status === 'Rejected' || status === 'Cancelled' || status === 'Closed') {
      await settleBundles(deps, batch);
      const failure = { failedTxMsg: `The proposal is ${status.toLowerCase()} on chain.` };
      return end(deps, project, batch, { event: 'EXECUTION_FAILED', executed, failure });
    }
    // Before the checks too: what they find while nothing is sent is no trouble of the batch’s.
    await fencedTransaction(deps, (trx) => requireUnpaused(trx, batch.flywheelId));
    const approval = status === 'Approved' ? null : await approve(deps, project, batch, { status, approved });
    if (approval === 'stopped' || approval === 'waits') return;
    if (approval === 'overtaken') continue;
    for (const [position, units] of approval?.computeUnits ?? []) computeUnits.set(position, units);
    const isSingle = executed < singleUntil;
    const next: Next = { executed, approval: approval?.transaction ?? null, isSingle, attempt: fruitless };
    const { landing, endPipeline } = await landNext(deps, project, batch, next, computeUnits);
    if (landing.state === 'landed') {
      fruitless = 0;
      continue;
    }
    const failure = await explainFailure(deps, project, batch, { ...next, landing });
    if (failure === null) {
      fruitless += 1;
      if (fruitless > MAX_FRUITLESS_BUNDLES)
        return reschedule(deps, project, batch, { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined });
      singleUntil = Math.max(singleUntil, endPipeline);
      continue;
    }
    if (failure.mends) return reschedule(deps, project, batch, failure.issue);
    // What was given up too early may have landed since: FAILED is final, and says what the chain says.
    await settleBundles(deps, batch);
    if ((await readProgress(deps, multisig, batch)).executed > failure.pipeline) continue;
    return end(deps, project, batch, {
      event: 'EXECUTION_FAILED',
      executed: failure.pipeline,
      failure: {
        failedTxMsg: failure.message,
        failedOnTransactionIndex: failure.pipeline,
        failedStartTransactionIndex: executed,
      },
    });
  }
}
