import type { Costs, Operation } from '../unit-costs.ts';
import {
  type Arrival,
  type Cell,
  createBursts,
  createCells,
  DAY_MS,
  type Demand,
  drawArrivals,
  shareOfMean,
} from './demand.ts';
import {
  type Chain,
  createStations,
  type Fleet,
  LIFE,
  occupy,
  offer,
  pass,
  type Stations,
  sumOver,
  waitsOf,
} from './fleet.ts';
import { createRandom } from './random.ts';
import { createSimulator, type Lane, type Process, type Simulator } from './simulator.ts';
import { SLICE_MS, type StationName } from './station.ts';

export interface Scenario {
  readonly demand: Demand;
  readonly fleet: Fleet;
  readonly chain: Chain;
  readonly seed: number;
}

/** Requests beside those of each batch, per batch or per project and day; an assumption about clients. */
const BESIDE_BATCH: readonly (readonly [Operation, number])[] = [
  ['get', 5],
  ['webhook', 1],
];
const BESIDE_PROJECT: readonly (readonly [Operation, number])[] = [
  ['current', 24 * 60],
  ['console list', 24],
  ['proof lookup', 24],
];

/** Batches that are still under way so long after the day are left. */
const DRAIN_MS = 3_600_000;

export interface Outcome {
  /** Batches by what became of them; they add up to those that were created. */
  readonly batches: {
    readonly created: number;
    readonly executed: number;
    /** Refused by a cap of the project. */
    readonly refused: number;
    readonly unfinished: number;
  };
  readonly pipelinesExecuted: number;
  /** Demanded work by capacity of each station, the fullest first. */
  readonly utilisations: readonly Utilisation[];
  /** Seconds from the approval to the last execution, by batches; null if none was executed. */
  readonly executionSeconds: { readonly p50: number; readonly p99: number } | null;
  readonly spentLamports: number;
  readonly lockedLamports: { readonly now: number; readonly most: number };
  readonly mostNonces: number;
  readonly walBytes: number;
  readonly rpcCalls: number;
  readonly events: number;
}

export interface Utilisation {
  readonly name: StationName | 'busiest multisig';
  readonly mean: number;
  readonly peak: number;
}

/** Simulates a day, and the hour after it. The same scenario and costs have the same outcome. */
export function runDay(scenario: Scenario, costs: Costs): Outcome {
  const { demand, fleet, chain, seed } = scenario;
  const random = createRandom(seed);
  const cells = createCells(demand);
  const bursts = createBursts(random, cells.length);
  const simulator = createSimulator();
  const stations = createStations(fleet, chain, DAY_MS);
  const day: Day = {
    ...scenario,
    costs,
    simulator,
    stations,
    cells: cells.map((cell) => {
      const [setups, deciding] = [simulator.openLane(1), simulator.openLane(1)];
      return { ...cell, setups, deciding, open: 0, spentLamports: 0 };
    }),
    places: simulator.openLane(fleet.works * fleet.placesPerWork),
    tally: createTally(),
  };
  occupyBeside(day);
  simulator.start(arrive(day, drawArrivals(random, cells, bursts)), 0);
  const events = simulator.run(DAY_MS + DRAIN_MS);
  const { tally } = day;
  const finished = tally.executed + tally.refused;
  return {
    batches: {
      created: tally.created,
      executed: tally.executed,
      refused: tally.refused,
      unfinished: tally.created - finished,
    },
    pipelinesExecuted: tally.pipelinesExecuted,
    utilisations: utilisationsOf(day),
    executionSeconds: quantilesOf(tally.durations),
    spentLamports: tally.spentLamports,
    lockedLamports: { now: tally.locked.now, most: tally.locked.most },
    mostNonces: tally.nonces.most,
    walBytes: stations.wal.utilisation().total,
    rpcCalls: stations.rpc.utilisation().total,
    events,
  };
}

interface Day extends Scenario {
  readonly costs: Costs;
  readonly simulator: Simulator;
  readonly stations: Stations;
  readonly cells: readonly OpenCell[];
  /** Batches that workers have in flight. */
  readonly places: Lane;
  readonly tally: Tally;
}

interface OpenCell extends Cell {
  /** Setups of a multisig run one after another, and so do its other jobs, beside them. */
  readonly setups: Lane;
  readonly deciding: Lane;
  /** Open batches of each of its projects. */
  open: number;
  /** Fees and tips of each of its projects. */
  spentLamports: number;
}

type Tally = ReturnType<typeof createTally>;

function createTally() {
  const durations: { readonly ms: number; readonly batches: number }[] = [];
  const counts = { created: 0, executed: 0, refused: 0, pipelinesExecuted: 0, spentLamports: 0 };
  return { ...counts, durations, locked: createGauge(), nonces: createGauge() };
}

function createGauge() {
  const gauge = { now: 0, most: 0 };
  return {
    get now() {
      return gauge.now;
    },
    get most() {
      return gauge.most;
    },
    add: (amount: number) => {
      gauge.now += amount;
      gauge.most = Math.max(gauge.most, gauge.now);
    },
  };
}

/** Fills the stations with what clients ask beside their batches, slice by slice along the day's curve. */
function occupyBeside({ stations, costs, cells, demand, fleet }: Day): void {
  const batches = cells.reduce((sum, { projects, batchesPerDay }) => sum + projects * batchesPerDay, 0);
  const shareOfDay = SLICE_MS / DAY_MS;
  for (let atMs = 0; atMs < DAY_MS; atMs += SLICE_MS) {
    const share = shareOfDay * shareOfMean(atMs + SLICE_MS / 2);
    for (const [operation, times] of BESIDE_BATCH) occupy(stations, atMs, costs.of(operation), share * times * batches);
    for (const [operation, times] of BESIDE_PROJECT) {
      occupy(stations, atMs, costs.of(operation), share * times * demand.projects);
    }
    const idle = costs.of('idle second');
    const [serves, works] = [(fleet.serves * SLICE_MS) / 1_000, (fleet.works * SLICE_MS) / 1_000];
    // The pair of processes was measured together: what is not CPU of `serve` counts with `work`.
    occupy(
      stations,
      atMs,
      { ...idle, workCpuMs: 0, databaseCpuMs: 0, otherCpuMs: 0, walBytes: 0, rpcCalls: 0 },
      serves,
    );
    occupy(stations, atMs, { ...idle, serveCpuMs: 0 }, works);
  }
}

function* arrive(day: Day, arrivals: Iterable<Arrival>): Process {
  for (const { atMs, cell } of arrivals) {
    yield atMs;
    const own = day.cells[cell];
    if (own) day.simulator.start(live(day, own), atMs);
  }
}

/** The life of one batch of each project of a cell. */
function* live(day: Day, cell: OpenCell): Process {
  const { costs, simulator, stations, tally, demand, chain, fleet } = day;
  const { projects, pipelines, setups, deciding } = cell;
  const now = () => simulator.nowMs;
  const waits = waitsOf(fleet, chain);
  const through = (operation: Operation) => pass(stations, now, costs.of(operation, pipelines), projects, waits);
  tally.created += projects;
  for (const operation of LIFE) offer(stations, now(), costs.of(operation, pipelines), projects);
  const spentLamports = sumOver(costs, pipelines, 'spentLamports');
  const { lockedLamports } = costs.of('setup', pipelines);
  if (isRefused(fleet, cell, { spentLamports, lockedLamports })) {
    tally.refused += projects;
    return;
  }
  cell.open += 1;
  cell.spentLamports += spentLamports;
  tally.nonces.add(projects);
  yield* through('init');

  yield* takePlace(day, setups);
  tally.locked.add(projects * lockedLamports);
  yield* through('setup');
  leavePlace(day, setups);

  yield now() + demand.approvalMs;
  const approvedMs = now();
  yield* through('execute request');
  yield* takePlace(day, deciding);
  yield* through('execution');
  leavePlace(day, deciding);
  tally.executed += projects;
  tally.pipelinesExecuted += projects * pipelines;
  tally.spentLamports += projects * spentLamports;
  tally.durations.push({ ms: now() - approvedMs, batches: projects });
  cell.open -= 1;

  yield now() + FINAL_MS;
  yield* takePlace(day, deciding);
  yield* through('closing');
  leavePlace(day, deciding);
  tally.locked.add(-projects * lockedLamports);
  tally.nonces.add(-projects);
}

/** Waits for the turn of a multisig's job, and then for a place of a worker. */
function* takePlace({ places }: Day, lane: Lane): Process {
  yield lane;
  yield places;
}

function leavePlace({ places }: Day, lane: Lane): void {
  places.leave();
  lane.leave();
}

/** A cluster finalizes after 31 slots and a vote; jobs of the multisig run meanwhile. */
const FINAL_MS = 13_000;

function isRefused(
  { caps }: Fleet,
  { open, pipelines, spentLamports }: OpenCell,
  next: { readonly spentLamports: number; readonly lockedLamports: number },
): boolean {
  return (
    open + 1 > caps.openBatches ||
    (open + 1) * pipelines > caps.openPipelines ||
    (open + 1) * next.lockedLamports > caps.lockedLamports ||
    spentLamports + next.spentLamports > caps.spentLamportsPerDay
  );
}

function utilisationsOf({ stations, cells, costs, chain }: Day): Utilisation[] {
  const all = Object.values(stations).flatMap((station) =>
    station === null ? [] : [{ name: station.name, ...station.utilisation() }],
  );
  const lanes = cells.map(({ pipelines, batchesPerDay }) => {
    const holdMs = (job: 'setup' | 'execution' | 'closing') => {
      const { aloneMs, bundles } = costs.of(job, pipelines);
      return Math.max(aloneMs, bundles * chain.slotMs);
    };
    return (batchesPerDay * Math.max(holdMs('setup'), holdMs('execution') + holdMs('closing'))) / DAY_MS;
  });
  const mean = lanes.reduce((most, lane) => Math.max(most, lane), 0);
  return [...all, { name: 'busiest multisig' as const, mean, peak: mean * shareOfMean(BUSIEST_MS) }].sort(
    (a, b) => b.peak - a.peak,
  );
}

/** The day's curve is highest at this time. */
const BUSIEST_MS = 15 * 3_600_000;

function quantilesOf(durations: Tally['durations']): Outcome['executionSeconds'] {
  const sorted = durations.toSorted((a, b) => a.ms - b.ms);
  const total = sorted.reduce((sum, { batches }) => sum + batches, 0);
  if (total === 0) return null;
  const quantile = (share: number) => {
    let seen = 0;
    for (const { ms, batches } of sorted) {
      seen += batches;
      if (seen >= share * total) return ms / 1_000;
    }
    throw new Error('A share is at most 1.');
  };
  return { p50: quantile(0.5), p99: quantile(0.99) };
}
