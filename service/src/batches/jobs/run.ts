import { type Batch, isFinal } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { SignedTransaction } from '../../solana/transactions.ts';
import { executeInstruction } from '../../squads/execute.ts';
import { planTransactions } from '../../squads/plan.ts';
import { findBatch } from '../../store/batches.ts';
import { assembleBundle, operatorLimits } from '../bundles/assemble-bundle.ts';
import { type Landing, landBundle, settleBundles } from '../bundles/land.ts';
import type { RunDeps } from '../in-run.ts';
import { approve } from './approve.ts';
import { end } from './end.ts';
import { explainFailure } from './explain-failure.ts';
import { readProgress } from './progress.ts';
import { setUpBatch } from './setup.ts';
import { postpone } from './trouble.ts';

/** So many bundles in a row that neither landed nor say why: the cluster is in trouble, and later is better than now. */
const MAX_FRUITLESS_BUNDLES = 5;

/**
 * Approves a batch whose execution was asked for, and executes it to its end. The chain’s cursor says what is left, so
 * it may be repeated at any moment and by any process; the chain refuses to execute a pipeline twice.
 */
export async function runBatch(deps: RunDeps, project: Project, requested: Batch): Promise<void> {
  const { multisig } = project.flywheel;
  if (requested.status === 'AVAILABLE_TO_QUEUE') await setUpBatch(deps, project, requested);
  const batch = await findBatch(deps.db, requested.id);
  if (!batch || isFinal(batch.status) || batch.signedTx === null) return;
  const paused = { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined } as const;
  if (batch.status === 'AVAILABLE_TO_QUEUE') return postpone(deps, project, batch, paused);
  await settleBundles(deps, batch);
  let isSingle = false;
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
    const approval = status === 'Approved' ? null : await approve(deps, project, batch, { status, approved });
    if (approval === 'stopped') return;
    const next: Next = { executed, approval, isSingle, attempt: fruitless };
    const { landing, firstPipeline } = await landNext(deps, project, batch, next);
    if (landing.state === 'landed') {
      fruitless = 0;
      continue;
    }
    const failure = await explainFailure(deps, project, batch, { ...next, landing });
    if (failure === null) {
      fruitless += 1;
      if (fruitless > MAX_FRUITLESS_BUNDLES)
        return postpone(deps, project, batch, { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined });
      isSingle = true;
      continue;
    }
    if (failure.mends) return postpone(deps, project, batch, failure.trouble);
    // What was given up too early may have landed since: FAILED is final, and says what the chain says.
    await settleBundles(deps, batch);
    if ((await readProgress(deps, multisig, batch)).executed > failure.pipeline) continue;
    return end(deps, project, batch, {
      event: 'EXECUTION_FAILED',
      executed: failure.pipeline,
      failure: {
        failedTxMsg: failure.message,
        failedOnTransactionIndex: failure.pipeline,
        failedStartTransactionIndex: firstPipeline,
      },
    });
  }
}

/** What goes out next. */
export interface Next {
  /** The chain’s cursor: the zero-based position of the next pipeline. */
  readonly executed: number;
  /** Not on chain yet: it leads the bundle. */
  readonly approval: SignedTransaction | null;
  /**
   * One thing at a time, the approval alone included: after a bundle that did not land whole, so that the pipeline at
   * fault is found and the healthy ones before it stand.
   */
  readonly isSingle: boolean;
  /** Bundles in a row that came to nothing. */
  readonly attempt: number;
}

async function landNext(
  deps: RunDeps,
  { flywheel: { multisig } }: Project,
  batch: Batch,
  { executed, approval, isSingle, attempt }: Next,
): Promise<{ readonly landing: Landing; readonly firstPipeline: number }> {
  const { maxTransactions } = deps.bundles;
  const signed = approval === null ? [] : [approval];
  const count = isSingle ? 1 - signed.length : maxTransactions - signed.length;
  const groups = await Promise.all(
    batch.pipelines
      .slice(executed, executed + count)
      .map(async ({ vaultMessage }, offset) => [
        await executeInstruction(multisig, batch.batchIndex, executed + offset, vaultMessage),
      ]),
  );
  const planned = planTransactions(groups, operatorLimits(multisig, 'execution'));
  const { planned: taken, ...bundle } = await assembleBundle(deps, planned, { maxTransactions, signed, attempt });
  const landing = await landBundle(deps, {
    ...bundle,
    batchId: batch.id,
    phase: 'execution',
    firstPipeline: executed,
    pipelineCount: taken.length,
  });
  return { landing, firstPipeline: executed };
}
