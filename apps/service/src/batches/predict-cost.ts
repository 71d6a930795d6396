import { feeLamports, type InstructionGroup, type PlannedTransaction, planTransactions } from '@flywheel/squads';
import { BASE_ACCOUNT_SIZE, type Instruction } from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { getTransferSolInstructionDataDecoder } from '@solana-program/system';
import type { Bundle, CompiledPipeline } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import type { BundleSender } from '../solana/bundles.ts';
import { approvalFeeLamports } from '../squads/approval.ts';
import { closeGroups, executionGroup, setupGroups } from '../squads/groups.ts';
import { accountSizes } from '../squads/rent.ts';
import { operatorLimits, withTip } from './bundles/assemble-bundle.ts';
import type { Deps } from './deps.ts';

/** Costs of a batch for the operator, from setup to close, if every bundle lands at the first attempt. */
export interface OperatorCost {
  readonly feeLamports: bigint;
  readonly tipLamports: bigint;
  /** Rent locked in Squads accounts until they are closed. */
  readonly rentLockedLamports: bigint;
}

export interface PredictCostDeps extends Pick<Deps, 'chain'> {
  readonly bundles: Pick<BundleSender, 'tip' | 'terms' | 'maxTransactions'>;
}

/** The index does not affect the cost: it takes eight bytes everywhere. */
const ANY_BATCH_INDEX = 1n;

/**
 * Predicts the operator's cost: plans the transactions of all phases with the planners that the worker uses, and sums up
 * their fees, tips and rent.
 * @param computeUnits compute units of each pipeline's own instructions, by position; the maximum is assumed for others.
 */
export async function predictCost(
  { chain, bundles }: PredictCostDeps,
  multisig: Multisig,
  pipelines: readonly CompiledPipeline[],
  computeUnits: ReadonlyMap<number, number>,
): Promise<OperatorCost> {
  const batch = { batchIndex: ANY_BATCH_INDEX, pipelines };
  const [tip, terms, rentLamports] = await Promise.all([
    bundles.tip(multisig.operator),
    bundles.terms(multisig.lookupTable.addresses),
    readRentLamports({ chain }, await accountSizes(multisig, { kind: 'pipelines', pipelines })),
  ]);
  const executions = pipelines.map((pipeline, position) => {
    const units = computeUnits.get(position) ?? MAX_COMPUTE_UNIT_LIMIT;
    return executionGroup(multisig, { batchIndex: ANY_BATCH_INDEX, position }, pipeline, units);
  });
  const phase = (name: Bundle['phase'], groups: readonly InstructionGroup[], signedCount = 0) => {
    const planned = planTransactions(groups, operatorLimits(multisig, name, terms, { taken: signedCount }));
    return phaseCost(multisig, planned, { tip, maxTransactions: bundles.maxTransactions, signedCount });
  };
  // The approval is the first transaction of the first execution bundle.
  const costs = [
    phase('setup', setupGroups(multisig, batch)),
    phase('execution', executions, 1),
    phase('close', closeGroups(multisig, batch, pipelines.length)),
  ];
  return {
    feeLamports: costs.reduce((sum, cost) => sum + cost.feeLamports, approvalFeeLamports(multisig)),
    tipLamports: costs.reduce((sum, cost) => sum + cost.bundleCount, 0n) * tipLamportsOf(tip),
    rentLockedLamports: rentLamports,
  };
}

/** Rent is proportional to bytes, so one request to the node is enough. */
async function readRentLamports({ chain }: Pick<Deps, 'chain'>, sizes: readonly number[]): Promise<bigint> {
  const lamportsPerByte = (await chain.minimumBalanceForRentExemption(0)) / BigInt(BASE_ACCOUNT_SIZE);
  return sizes.reduce((sum, bytes) => sum + BigInt(BASE_ACCOUNT_SIZE + bytes) * lamportsPerByte, 0n);
}

function phaseCost(
  { operator }: Multisig,
  planned: readonly PlannedTransaction[],
  {
    tip,
    maxTransactions,
    signedCount,
  }: { readonly tip: Instruction | null; readonly maxTransactions: number; readonly signedCount: number },
): { readonly feeLamports: bigint; readonly bundleCount: bigint } {
  let left = planned;
  let fees = 0n;
  let bundleCount = 0n;
  while (left.length > 0) {
    const room = maxTransactions - (bundleCount === 0n ? signedCount : 0);
    const { messages, count } = withTip(left, tip, { room, operator });
    fees += messages.reduce((sum, message) => sum + feeLamports(message), 0n);
    bundleCount += 1n;
    left = left.slice(count);
  }
  return { feeLamports: fees, bundleCount };
}

function tipLamportsOf(tip: Instruction | null): bigint {
  return tip?.data ? getTransferSolInstructionDataDecoder().decode(tip.data).amount : 0n;
}
