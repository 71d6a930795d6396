import { ApiError } from '@flywheel/api';
import { BUILTIN_UNITS } from '@flywheel/protocol';
import { executeWeight, planTransactions, type TransactionLimits, type UnsignedMessage } from '@flywheel/squads';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { failedInstruction, isFeeUnpaid, isNodeBehind } from '../../model/transaction-error.ts';
import type { Simulation } from '../../solana/answers.ts';
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
 * Simulates the pipelines at these positions without signatures, as the vault, on the node's current state. A transaction
 * holds as many as fit. Their answers are those of each alone: one that fails behind others is simulated again as the first.
 * @throws ApiError ERR_OPERATOR_UNFUNDED if the operator, whose fee a simulation needs, cannot pay it; NodeBehind.
 */
export async function simulatePipelines(
  { chain }: Pick<Deps, 'chain'>,
  multisig: Multisig,
  pipelines: Pipelines,
  positions: readonly number[],
): Promise<Simulations> {
  const lifetime = await chain.latestBlockhash();
  const limits = simulationLimits(multisig);
  const failures: SimulatedFailure[] = [];
  const computeUnits = new Map<number, number>();
  const left = planSimulations(pipelines, positions, limits);
  const simulateLeft = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const wire = compileUnsigned(next.message, lifetime);
      const simulation = await chain.simulate(wire, { sigVerify: false, replaceRecentBlockhash: true });
      if (simulation.err !== null) throwIfUnrelated(simulation.err, multisig);
      const { measured, failure, unknown } = readSimulation(next.held, simulation);
      for (const [position, units] of measured) computeUnits.set(position, units);
      if (failure !== null) failures.push(failure);
      left.push(...unknown.flatMap((together) => planSimulations(pipelines, together, limits)));
    }
  };
  await Promise.all(Array.from({ length: MAX_PARALLEL_SIMULATIONS }, simulateLeft));
  return { failures: failures.sort((a, b) => a.pipeline - b.pipeline), computeUnits };
}

type Pipelines = readonly Pick<CompiledPipeline, 'instructions'>[];

/** A pipeline in a transaction that is simulated. */
interface HeldPipeline {
  /** Position in the batch. */
  readonly position: number;
  /** Index of its first instruction in the transaction. */
  readonly start: number;
  /** Index after its last instruction. */
  readonly end: number;
}

interface PlannedSimulation {
  readonly message: UnsignedMessage;
  readonly held: readonly HeldPipeline[];
}

function planSimulations(
  pipelines: Pipelines,
  positions: readonly number[],
  limits: TransactionLimits,
): PlannedSimulation[] {
  const groups = positions.map((position) => {
    const { instructions } = pipelines[position] ?? { instructions: [] };
    return { position, instructions, computeUnits: 0, traceLength: executeWeight(instructions, 0).traceLength };
  });
  let planned = 0;
  return planTransactions(groups, limits).map(({ message, groupCount }) => {
    const inside = groups.slice(planned, planned + groupCount);
    planned += groupCount;
    // The compute budget's instructions come first.
    let end = message.instructions.length - inside.reduce((sum, { instructions }) => sum + instructions.length, 0);
    const held = inside.map(({ position, instructions }) => {
      const start = end;
      end += instructions.length;
      return { position, start, end };
    });
    return { message, held };
  });
}

/** @throws ApiError ERR_OPERATOR_UNFUNDED, or NodeBehind, for an error that neither a pipeline nor an approval can cause. */
export function throwIfUnrelated(err: string, { operator }: Pick<Multisig, 'operator'>): void {
  if (isNodeBehind(err)) {
    throw new NodeBehind(`The node does not show what the multisig's registration created: ${err}`);
  }
  if (isFeeUnpaid(err)) {
    const context = { operator, retryAfterSeconds: OPERATOR_RETRY_SECONDS };
    throw new ApiError('ERR_OPERATOR_UNFUNDED', context, { cause: err });
  }
}

interface ReadSimulation {
  /** Position and compute units of each pipeline that succeeds. */
  readonly measured: readonly (readonly [position: number, units: number])[];
  readonly failure: SimulatedFailure | null;
  /** Positions that this simulation says nothing about, in groups to simulate together. */
  readonly unknown: readonly (readonly number[])[];
}

function readSimulation(held: readonly HeldPipeline[], simulation: Simulation): ReadSimulation {
  const { err, logs } = simulation;
  if (err === null) return readSucceeding(held, simulation);
  const index = failedInstruction(err);
  const failing = held.findIndex(({ start, end }) => index !== null && start <= index && index < end);
  const [first, ...others] = held;
  if (first !== undefined && (failing === 0 || others.length === 0)) {
    const instruction = failing === -1 || index === null ? null : index - first.start;
    const failure = { pipeline: first.position, instruction, err, reason: reasonOf(logs) };
    return { measured: [], failure, unknown: together(others) };
  }
  // The transaction failed as a whole.
  if (failing === -1) return { measured: [], failure: null, unknown: held.map(({ position }) => [position]) };
  const { measured, unknown } = readSucceeding(held.slice(0, failing), simulation);
  return { measured, failure: null, unknown: [...unknown, ...together(held.slice(failing))] };
}

/** Reads the units of pipelines that succeed from the logs, if they are complete. */
function readSucceeding(held: readonly HeldPipeline[], { err, logs, unitsConsumed }: Simulation): ReadSimulation {
  const units = unitsOfInstructions(logs);
  const isAlone = held.length === 1 && err === null;
  const measured: [number, number][] = [];
  const unknown: number[][] = [];
  for (const { position, start, end } of held) {
    if (end <= units.length) measured.push([position, sumOf(units.slice(start, end))]);
    else if (!isAlone) unknown.push([position]);
    else if (unitsConsumed !== null) measured.push([position, Number(unitsConsumed)]);
  }
  return { measured, failure: null, unknown };
}

function sumOf(units: readonly number[]): number {
  return units.reduce((sum, each) => sum + each, 0);
}

function together(held: readonly HeldPipeline[]): number[][] {
  return held.length === 0 ? [] : [held.map(({ position }) => position)];
}

/**
 * Reads from the logs the compute units of each instruction of a transaction, in order; fewer than it has if it failed or
 * the logs were cut. No program can write these lines itself: the runtime puts `Program log:` before what one logs.
 */
function unitsOfInstructions(logs: readonly string[]): number[] {
  const units: number[] = [];
  for (const line of logs) {
    // Builtin programs do not log theirs.
    if (/^Program \w+ invoke \[1\]$/.test(line)) units.push(BUILTIN_UNITS);
    const consumed = /^Program \w+ consumed (\d+) of \d+ compute units$/.exec(line)?.[1];
    // Programs that the instruction called say theirs before its own.
    if (consumed !== undefined) units[units.length - 1] = Number(consumed);
  }
  return logs.includes('Log truncated') ? units.slice(0, -1) : units;
}

const REASON = /^Program log: Error: (.+)$/;

function reasonOf(logs: readonly string[]): string | null {
  return logs.map((line) => REASON.exec(line)?.[1]).findLast((reason) => reason !== undefined) ?? null;
}
