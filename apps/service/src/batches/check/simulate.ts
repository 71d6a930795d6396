import { ApiError } from '@flywheel/api';
import { planTransactions } from '@flywheel/squads';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { NodeBehind } from '../../solana/node-unavailable.ts';
import { compileUnsigned } from '../../solana/transactions.ts';
import { simulationLimits } from '../bundles/assemble-bundle.ts';
import type { Deps } from '../deps.ts';

export interface SimulatedFailure {
  /** Zero-based position. */
  readonly pipeline: number;
  /** Zero-based position of the failed instruction in the pipeline; null when the error names none. */
  readonly instruction: number | null;
  /** The TransactionError as JSON text. */
  readonly err: string;
  /** Error message that the failing program logged; null if it logged none. */
  readonly reason: string | null;
}

export interface Simulations {
  /** In order of position. */
  readonly failures: readonly SimulatedFailure[];
  /** Compute units used by each successful pipeline, by position. */
  readonly computeUnits: ReadonlyMap<number, number>;
}

/** More in parallel is no faster on one node, and public nodes count requests. */
const MAX_PARALLEL_SIMULATIONS = 8;

/** A person must fund the operator; jobs that lack its SOL try again as often. */
const OPERATOR_RETRY_SECONDS = 15;

/**
 * Simulates the pipelines at these positions, each in a transaction of its own that the vault executes, without
 * signatures and on the node's current state.
 * @throws ApiError ERR_OPERATOR_UNFUNDED if the operator, whose fee a simulation needs, cannot pay it; NodeBehind.
 */
export async function simulatePipelines(
  { chain }: Pick<Deps, 'chain'>,
  multisig: Multisig,
  pipelines: readonly Pick<CompiledPipeline, 'instructions'>[],
  positions: readonly number[],
): Promise<Simulations> {
  const lifetime = await chain.latestBlockhash();
  const limits = simulationLimits(multisig);
  const failures: SimulatedFailure[] = [];
  const computeUnits = new Map<number, number>();
  const left = positions[Symbol.iterator]();
  const simulateRest = async () => {
    for (const pipeline of left) {
      const instructions = pipelines[pipeline]?.instructions ?? [];
      const [planned] = planTransactions([{ instructions, computeUnits: 0, traceLength: 0 }], limits);
      if (!planned) throw new Error(`The plan of pipelines[${pipeline}] has no transaction.`);
      const wire = compileUnsigned(planned.message, lifetime);
      const { err, logs, unitsConsumed } = await chain.simulate(wire, {
        sigVerify: false,
        replaceRecentBlockhash: true,
      });
      if (err === null) {
        if (unitsConsumed !== null) computeUnits.set(pipeline, Number(unitsConsumed));
        continue;
      }
      if (isNodeBehind(err)) {
        throw new NodeBehind(`The node does not show what the multisig's registration created: ${err}`);
      }
      if (isOperatorUnable(err)) {
        const context = { operator: multisig.operator, retryAfterSeconds: OPERATOR_RETRY_SECONDS };
        throw new ApiError('ERR_OPERATOR_UNFUNDED', context, { cause: err });
      }
      // The compute budget's instructions come first.
      const first = planned.message.instructions.length - instructions.length;
      failures.push({ pipeline, instruction: instructionOf(err, first), err, reason: reasonOf(logs) });
    }
  };
  await Promise.all(Array.from({ length: MAX_PARALLEL_SIMULATIONS }, simulateRest));
  return { failures: failures.sort((a, b) => a.pipeline - b.pipeline), computeUnits };
}

/** The only lookup table of a simulation is the project's. It is finalized before the first batch, frozen, and never closed. */
function isNodeBehind(err: string): boolean {
  return err.includes('AddressLookupTable');
}

function isOperatorUnable(err: string): boolean {
  return err.includes('InsufficientFundsForFee') || err === '"AccountNotFound"';
}

function instructionOf(err: string, first: number): number | null {
  const index = /^\{"InstructionError":\[(\d+),/.exec(err)?.[1];
  return index === undefined || Number(index) < first ? null : Number(index) - first;
}

const REASON = /^Program log: Error: (.+)$/;

function reasonOf(logs: readonly string[]): string | null {
  return logs.map((line) => REASON.exec(line)?.[1]).findLast((reason) => reason !== undefined) ?? null;
}
