import type { Batch } from '../../model/batch.ts';
import type { Multisig, Project } from '../../model/project.ts';
import type { SignedTransaction } from '../../solana/transactions.ts';
import { batchExecutionGroup } from '../../squads/execute.ts';
import { type InstructionGroup, MAX_COMPUTE_UNITS, planTransactions } from '../../squads/plan.ts';
import { assembleBundle, operatorLimits } from '../bundles/assemble-bundle.ts';
import { type Landing, landBundle } from '../bundles/land.ts';
import { simulatePipelines } from '../check/simulate.ts';
import type { RunDeps } from '../deps.ts';

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

/**
 * Sends as many of the next pipelines as a bundle holds. `computeUnits` is what is known of each by its position; what is
 * found out here is added. Answers what became of it, and the position behind the last pipeline in it.
 */
export async function landNext(
  deps: RunDeps,
  { flywheel: { multisig } }: Project,
  batch: Batch,
  { executed, approval, isSingle, attempt }: Next,
  computeUnits: Map<number, number>,
): Promise<{ readonly landing: Landing; readonly endPipeline: number }> {
  const { maxTransactions } = deps.bundles;
  const signed = approval === null ? [] : [approval];
  const room = isSingle ? 1 - signed.length : (maxTransactions - signed.length) * MAX_PIPELINES_A_TRANSACTION;
  const [groups, terms] = await Promise.all([
    executionGroups(deps, multisig, batch, { executed, room, computeUnits }),
    deps.bundles.terms(multisig.lookupTable.addresses, attempt),
  ]);
  const limits = operatorLimits(multisig, 'execution', terms, { isCareful: isSingle });
  const left = planTransactions(groups, limits);
  const { planned, ...bundle } = await assembleBundle(deps, left, { maxTransactions, signed, attempt });
  const counts = planned.map(({ groupCount }) => groupCount);
  const landing = await landBundle(deps, {
    ...bundle,
    batchId: batch.id,
    phase: 'execution',
    firstPipeline: executed,
    pipelineCounts: [...signed.map(() => 0), ...counts],
  });
  return { landing, endPipeline: executed + counts.reduce((sum, count) => sum + count, 0) };
}

/** A pipeline runs its execution, its proof memo and an action at least, of 64 instructions that are traced. */
const MAX_PIPELINES_A_TRANSACTION = 21;

/**
 * The next pipelines, up to the first that would fail as the chain is now: it does not take the healthy ones before it
 * down. Where it is the very next, it goes alone, and the chain decides.
 */
async function executionGroups(
  deps: RunDeps,
  multisig: Multisig,
  batch: Batch,
  {
    executed,
    room,
    computeUnits,
  }: { readonly executed: number; readonly room: number; readonly computeUnits: Map<number, number> },
): Promise<InstructionGroup[]> {
  const { pipelines } = batch;
  const positions = pipelines.slice(executed, executed + room).map((_, i) => executed + i);
  const unknown = positions.filter((position) => !computeUnits.has(position));
  if (unknown.length > 0) {
    const simulations = await simulatePipelines(deps, multisig, pipelines, unknown);
    for (const [position, units] of simulations.computeUnits) computeUnits.set(position, units);
  }
  const firstFailing = positions.findIndex((position) => !computeUnits.has(position));
  const healthy = firstFailing === -1 ? positions : positions.slice(0, Math.max(firstFailing, 1));
  return Promise.all(
    healthy.map((position) =>
      batchExecutionGroup(multisig, batch, position, computeUnits.get(position) ?? MAX_COMPUTE_UNITS),
    ),
  );
}
