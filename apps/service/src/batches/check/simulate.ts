import type { CompiledPipeline } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { compileUnsigned } from '../../solana/transactions.ts';
import { planTransactions } from '../../squads/plan.ts';
import { simulationLimits } from '../bundles/assemble-bundle.ts';
import type { Deps } from '../deps.ts';

export interface SimulatedFailure {
  /** Zero-based. */
  readonly pipeline: number;
  /** JSON text of the TransactionError. */
  readonly err: string;
  /** What the program that failed said, or null. */
  readonly reason: string | null;
}

export interface Simulations {
  /** Those that fail, in order. */
  readonly failures: readonly SimulatedFailure[];
  /** What each of the others used, by position. */
  readonly computeUnits: ReadonlyMap<number, number>;
}

/** More at once gains nothing from one node, and public ones count requests. */
const MAX_SIMULATIONS_AT_ONCE = 8;

/**
 * Runs the instructions of the pipelines at these positions, each alone, as the vault would: as of now, on one node, and
 * without signatures.
 * @throws Error when the operator, who pays each of them, cannot.
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
      if (!planned) throw new Error(`pipelines[${pipeline}] makes no transaction.`);
      const wire = compileUnsigned(planned.message, lifetime);
      const { err, logs, unitsConsumed } = await chain.simulate(wire, {
        sigVerify: false,
        replaceRecentBlockhash: true,
      });
      if (err === null) {
        if (unitsConsumed !== null) computeUnits.set(pipeline, Number(unitsConsumed));
        continue;
      }
      if (isOperatorUnable(err)) throw new Error(`The operator ${multisig.operator} cannot pay a fee: ${err}`);
      failures.push({ pipeline, err, reason: reasonOf(logs) });
    }
  };
  await Promise.all(Array.from({ length: MAX_SIMULATIONS_AT_ONCE }, simulateRest));
  return { failures: failures.sort((a, b) => a.pipeline - b.pipeline), computeUnits };
}

function isOperatorUnable(err: string): boolean {
  return err.includes('InsufficientFundsForFee') || err === '"AccountNotFound"';
}

const REASON = /^Program log: Error: (.+)$/;

function reasonOf(logs: readonly string[]): string | null {
  return logs.map((line) => REASON.exec(line)?.[1]).findLast((reason) => reason !== undefined) ?? null;
}
