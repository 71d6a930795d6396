import type { Batch, ExecutionIssue } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { signTransaction } from '../../solana/transactions.ts';
import { batchExecutionGroup } from '../../squads/execute.ts';
import { MAX_COMPUTE_UNITS, planTransactions } from '../../squads/plan.ts';
import { simulationLimits } from '../bundles/assemble-bundle.ts';
import type { Landing } from '../bundles/land.ts';
import { describeMissingFunds, isShortOfFunds, readFunds } from '../check/funds.ts';
import type { RunDeps } from '../deps.ts';
import type { Next } from './land-next.ts';
import { readProgress } from './progress.ts';

export type Failure =
  /** Waiting may help: a deposit, for one. */
  | { readonly mends: true; readonly issue: ExecutionIssue }
  /** This pipeline fails whenever it is tried. */
  | { readonly mends: false; readonly pipeline: number; readonly message: string };

/**
 * Why a bundle did not land whole; null when nothing is known against sending again: its blockhash ran out, or it held
 * several pipelines and which is at fault is still to be found.
 */
export async function explainFailure(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  { executed, approval, isSingle, landing }: Next & { readonly landing: Landing },
): Promise<Failure | null> {
  // An approval goes alone: what it failed of, or is said to have failed of, is no pipeline's doing.
  if (!isSingle || approval !== null) return null;
  const { executed: pipeline, status } = await readProgress(deps, project.flywheel.multisig, batch);
  // The cursor has passed it: an earlier sending had landed after all, and this one failed for being the second.
  if (pipeline > executed || status !== 'Approved') return null;
  const err = landing.state === 'failed' ? landing.err : await simulatePipeline(deps, project, batch, pipeline);
  if (err === null) return null;
  const problems = isShortOfFunds(err) ? await findMissingFunds(deps, project, batch, pipeline) : [];
  if (problems.length > 0) return { mends: true, issue: { code: 'ERR_VAULT_UNDERFUNDED', context: { problems } } };
  if (!isPipelinesOwn(err)) {
    return { mends: true, issue: { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined } };
  }
  return { mends: false, pipeline, message: `pipelines[${pipeline}] failed on chain: ${err}` };
}

async function simulatePipeline(
  deps: RunDeps,
  { flywheel: { multisig } }: Project,
  batch: Batch,
  position: number,
): Promise<string | null> {
  const group = await batchExecutionGroup(multisig, batch, position, MAX_COMPUTE_UNITS);
  const [planned] = planTransactions([group], simulationLimits(multisig));
  if (!planned) throw new Error('An execution takes one transaction.');
  const { wire } = await signTransaction(planned.message, await deps.chain.latestBlockhash(), [deps.operator]);
  return (await deps.chain.simulate(wire, { sigVerify: false, replaceRecentBlockhash: true })).err;
}

/** What the vault lacks for the pipelines from a position on. */
async function findMissingFunds(
  deps: RunDeps,
  project: Project,
  batch: Batch,
  firstPosition: number,
): Promise<string[]> {
  const pipelines = batch.pipelines.slice(firstPosition);
  return describeMissingFunds(await readFunds(deps, project, pipelines), project, pipelines, firstPosition);
}

/** Whatever else a transaction fails of (its fee payer, its blockhash, the node) mends without the pipeline changing. */
function isPipelinesOwn(err: string): boolean {
  return (
    err.includes('InstructionError') || (err.includes('InsufficientFundsForRent') && !err.includes('"account_index":0'))
  );
}
