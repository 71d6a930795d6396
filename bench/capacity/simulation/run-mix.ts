import type { Costs, Operation, UnitCost } from '../unit-costs.ts';
import { type Chain, createStations, type Fleet, LIFE, offer, pass, type Stations, waitsOf } from './fleet.ts';
import { createSimulator, type Lane, type Process, type Simulator } from './simulator.ts';

/** A few minutes of work for a fleet, which can also be done by a real one. */
export interface Mix {
  readonly fleet: Fleet;
  readonly chain: Chain;
  readonly projects: number;
  /** Pipelines of each batch. */
  readonly pipelines: number;
  /** Moments at which the batches come, in ms; the projects send them in turn. */
  readonly arrivals: readonly number[];
  /** Clients that read, one request after another, until all batches are executed: `get` and `current` in turn. */
  readonly readers: number;
}

/** Figures of a mix, predicted or measured. */
export const MIX_FIGURES = [
  'serve CPU, s',
  'work CPU, s',
  'PostgreSQL CPU, s',
  'round trips',
  'RPC calls',
  'engine requests',
  'WAL, MB',
  'last execution after, s',
  'execute to executed p50, s',
  'execute to executed p99, s',
  'reads a second',
] as const;
export type MixFigures = Readonly<Record<(typeof MIX_FIGURES)[number], number>>;

/** Time from the end of an execution to its closing: finality of the local cluster, and a poll. */
const FINAL_MS = 14_000;
/** Longer than any mix takes. */
const LENGTH_MS = 3_600_000;

/** Predicts the figures of a mix. Idle processes count until the last batch is closed. */
export function runMix(mix: Mix, costs: Costs): MixFigures {
  const simulator = createSimulator();
  const multisigs = Array.from({ length: mix.projects }, () => ({
    setups: simulator.openLane(1),
    deciding: simulator.openLane(1),
  }));
  const state: MixState = {
    ...{ mix, costs, simulator, stations: createStations(mix.fleet, mix.chain, LENGTH_MS) },
    ...{ total: emptyTotal(), durationsMs: [], lastMs: 0, closedMs: 0, reads: 0 },
  };
  for (const [i, atMs] of mix.arrivals.entries()) {
    const multisig = multisigs[i % multisigs.length];
    if (multisig) simulator.start(live(state, multisig), atMs);
  }
  for (let i = 0; i < mix.readers; i++) simulator.start(read(state), 0);
  simulator.run(LENGTH_MS);
  const { total, durationsMs, lastMs, closedMs, reads } = state;
  const { serves, works } = mix.fleet;
  const idle = costs.of('idle second');
  const seconds = closedMs / 1_000;
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const quantile = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN) / 1_000;
  return {
    'serve CPU, s': (total.serveCpuMs + seconds * serves * idle.serveCpuMs) / 1_000,
    'work CPU, s': (total.workCpuMs + seconds * works * idle.workCpuMs) / 1_000,
    'PostgreSQL CPU, s': (total.databaseCpuMs + seconds * works * idle.databaseCpuMs) / 1_000,
    'round trips': total.roundTrips + seconds * works * idle.roundTrips,
    'RPC calls': total.rpcCalls + seconds * works * idle.rpcCalls,
    'engine requests': total.engineRequests,
    'WAL, MB': (total.walBytes + seconds * works * idle.walBytes) / 1e6,
    'last execution after, s': lastMs / 1_000,
    'execute to executed p50, s': quantile(0.5),
    'execute to executed p99, s': quantile(0.99),
    'reads a second': reads / (lastMs / 1_000),
  };
}

type Total = { -readonly [Amount in keyof Omit<UnitCost, 'operation'>]: number };

interface MixState {
  readonly mix: Mix;
  readonly costs: Costs;
  readonly simulator: Simulator;
  readonly stations: Stations;
  readonly total: Total;
  readonly durationsMs: number[];
  lastMs: number;
  closedMs: number;
  reads: number;
}

function emptyTotal(): Total {
  return {
    ...{ pipelines: 0, serveCpuMs: 0, workCpuMs: 0, databaseCpuMs: 0, otherCpuMs: 0, roundTrips: 0, databaseBytes: 0 },
    ...{ walBytes: 0, rpcCalls: 0, engineRequests: 0, bundles: 0, transactions: 0, computeUnits: 0 },
    ...{ spentLamports: 0, lockedLamports: 0, aloneMs: 0 },
  };
}

/** Lets an operation pass, and counts it. */
function* through(state: MixState, operation: Operation, pipelines: number): Process {
  const { costs, stations, simulator, mix, total } = state;
  const cost = costs.of(operation, pipelines);
  offer(stations, simulator.nowMs, cost, 1);
  for (const amount of Object.keys(total) as (keyof Total)[]) total[amount] += cost[amount];
  yield* pass(stations, () => simulator.nowMs, cost, 1, waitsOf(mix.fleet, mix.chain));
}

/** Setups of a multisig run one after another, and so do its other jobs, beside them. */
interface MultisigLanes {
  readonly setups: Lane;
  readonly deciding: Lane;
}

function* live(state: MixState, { setups, deciding }: MultisigLanes): Process {
  const { simulator, mix } = state;
  const [init, setup, request, execution, closing] = LIFE;
  yield* through(state, init, mix.pipelines);
  yield setups;
  yield* through(state, setup, mix.pipelines);
  setups.leave();
  yield* through(state, request, mix.pipelines);
  const askedMs = simulator.nowMs;
  yield deciding;
  yield* through(state, execution, mix.pipelines);
  deciding.leave();
  state.durationsMs.push(simulator.nowMs - askedMs);
  state.lastMs = simulator.nowMs;
  yield simulator.nowMs + FINAL_MS;
  yield deciding;
  yield* through(state, closing, mix.pipelines);
  deciding.leave();
  state.closedMs = simulator.nowMs;
}

function* read(state: MixState): Process {
  const { mix, durationsMs } = state;
  for (let i = 0; durationsMs.length < mix.arrivals.length; i++) {
    yield* through(state, i % 2 === 0 ? 'get' : 'current', 0);
    state.reads += 1;
  }
}
