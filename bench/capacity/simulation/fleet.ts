import type { Amount, Costs, Operation, UnitCost } from '../unit-costs.ts';
import { createStation, type Station } from './station.ts';

/** The processes that run, and the limits that others set them. */
export interface Fleet {
  readonly serves: number;
  readonly works: number;
  /** Cores of PostgreSQL, all deployments together. */
  readonly databaseCores: number;
  /** Bytes of its log that the disk of PostgreSQL, and that of each standby, writes in a second. */
  readonly walBytesPerSecond: number;
  readonly standbys: Standbys | null;
  /** Requests in a second that the provider of the nodes allows; infinite on the same machine. */
  readonly rpcPerSecond: number;
  /** The same of the block engine, all workers together. */
  readonly enginePerSecond: number;
  /** Operator keys: each pays for its transactions, so all of them write its account. One for each deployment. */
  readonly operators: number;
  readonly caps: ProjectCaps;
  /** Batches that one worker has in flight (WORKER_MAX_BATCHES). */
  readonly placesPerWork: number;
  /** Cores that everything shares, the cluster and the clients too; null if each part has its own. */
  readonly sharedCores: number | null;
}

/** Servers that replicate PostgreSQL. Any one of them confirms each commit; none answers reads. */
export interface Standbys {
  readonly count: number;
  /** Milliseconds that each commit waits for the first confirmation. */
  readonly confirmMs: number;
  /** Bytes of the log that the primary's network carries to all of them in a second. */
  readonly sentBytesPerSecond: number;
  /** Bytes of the log that the one process which replays it on a standby can do in a second. */
  readonly replayBytesPerSecond: number;
}

/** Caps of a project (docs/decisions/0069), or what they were raised to. */
export interface ProjectCaps {
  readonly openBatches: number;
  readonly openPipelines: number;
  readonly lockedLamports: number;
  readonly spentLamportsPerDay: number;
}

/** Limits of a cluster. */
export interface Chain {
  readonly slotMs: number;
  readonly blockUnits: number;
  /** Compute units with which the transactions of a block may write one account. */
  readonly accountUnits: number;
  /** Share of a block that others leave. */
  readonly blockShare: number;
}

/** Mainnet: blocks of 60 million units since SIMD-0256, and 12 million for each account that is written. */
export const MAINNET: Chain = { slotMs: 400, blockUnits: 60e6, accountUnits: 12e6, blockShare: 0.5 };

/** All that is scarce. */
export interface Stations {
  readonly serve: Station;
  readonly work: Station;
  readonly database: Station;
  readonly wal: Station;
  /** Delays commits, as the log must have been sent. */
  readonly sent: Station | null;
  /** Delays no commit: a standby that replays too slowly falls behind, and is late after a failover. */
  readonly replay: Station | null;
  readonly rpc: Station;
  readonly engine: Station;
  readonly operator: Station;
  readonly block: Station;
  readonly shared: Station | null;
}

export function createStations(fleet: Fleet, chain: Chain, lengthMs: number): Stations {
  const { standbys } = fleet;
  const station = (name: Station['name'], rate: number) => createStation(name, rate, lengthMs);
  return {
    serve: station('serve CPU', fleet.serves),
    work: station('work CPU', fleet.works),
    database: station('database CPU', fleet.databaseCores),
    wal: station('database WAL', fleet.walBytesPerSecond / 1_000),
    sent: standbys && station('replication', standbys.sentBytesPerSecond / standbys.count / 1_000),
    replay: standbys && station("standby's replay", standbys.replayBytesPerSecond / 1_000),
    rpc: station('RPC requests', fleet.rpcPerSecond / 1_000),
    engine: station('engine requests', fleet.enginePerSecond / 1_000),
    operator: station("operator's account", (fleet.operators * chain.accountUnits) / chain.slotMs),
    block: station('block', (chain.blockShare * chain.blockUnits) / chain.slotMs),
    shared: fleet.sharedCores === null ? null : station('shared cores', fleet.sharedCores),
  };
}

/** The demand that an operation puts on each station, by the amounts of its unit cost. */
const DEMANDS: readonly (readonly [station: keyof Stations, of: (cost: UnitCost) => number])[] = [
  ['serve', ({ serveCpuMs }) => serveCpuMs],
  ['work', ({ workCpuMs }) => workCpuMs],
  ['database', ({ databaseCpuMs }) => databaseCpuMs],
  ['wal', ({ walBytes }) => walBytes],
  ['sent', ({ walBytes }) => walBytes],
  ['replay', ({ walBytes }) => walBytes],
  ['rpc', ({ rpcCalls }) => rpcCalls],
  ['engine', ({ engineRequests }) => engineRequests],
  ['operator', ({ computeUnits }) => computeUnits],
  ['block', ({ computeUnits }) => computeUnits],
  [
    'shared',
    ({ serveCpuMs, workCpuMs, databaseCpuMs, otherCpuMs }) => serveCpuMs + workCpuMs + databaseCpuMs + otherCpuMs,
  ],
];

/** Counts an operation as demanded at a moment, at all stations. */
export function offer(stations: Stations, atMs: number, cost: UnitCost, times: number): void {
  for (const [name, of] of DEMANDS) stations[name]?.offer(atMs, times * of(cost));
}

/** Takes what an operation needs from all stations, without following it. */
export function occupy(stations: Stations, atMs: number, cost: UnitCost, times: number): void {
  for (const [name, of] of DEMANDS) stations[name]?.occupy(atMs, times * of(cost));
}

/**
 * Lets operations of the same kind pass through the stations, one after another as one of them does: the process, the database,
 * the nodes, the block engine, the chain, and then what is left of the time of one alone.
 */
export function* pass(stations: Stations, now: () => number, cost: UnitCost, times: number, waits: Waits) {
  const { serve, work, database, wal, sent, rpc, engine, operator, block, shared } = stations;
  const { serveCpuMs, workCpuMs, databaseCpuMs, otherCpuMs, computeUnits, bundles } = cost;
  const allCpuMs = serveCpuMs + workCpuMs + databaseCpuMs + otherCpuMs;
  const sharedMs = shared?.book(now(), times * allCpuMs, 0) ?? 0;
  const cpuMs = serveCpuMs + workCpuMs;
  yield Math.max(
    sharedMs,
    serve.book(now(), times * serveCpuMs, serveCpuMs),
    work.book(now(), times * workCpuMs, cpuMs),
  );
  yield Math.max(
    database.book(now(), times * databaseCpuMs, databaseCpuMs),
    wal.book(now(), times * cost.walBytes, 0),
    sent?.book(now(), times * cost.walBytes, 0) ?? 0,
  );
  yield rpc.book(now(), times * cost.rpcCalls, 0);
  if (bundles > 0) {
    const sentMs = engine.book(now(), times * cost.engineRequests, 0);
    // At best a bundle of a batch lands in each slot.
    const landedMs = Math.max(
      sentMs,
      operator.book(now(), times * computeUnits, 0),
      block.book(now(), times * computeUnits, 0),
      now() + (bundles - 1) * waits.slotMs,
    );
    yield Math.ceil(landedMs / waits.slotMs) * waits.slotMs;
  }
  yield now() + restMs(cost, waits.slotMs) + waits.confirmMs * COMMITS;
}

interface Waits {
  readonly slotMs: number;
  readonly confirmMs: number;
}

export function waitsOf({ standbys }: Fleet, { slotMs }: Chain): Waits {
  return { slotMs, confirmMs: standbys?.confirmMs ?? 0 };
}

/** Commits of one operation that follow each other; an assumption. */
const COMMITS = 4;

/** The part of the time of one alone that is neither CPU nor the slots of its bundles: confirmations, polls, and pauses. */
function restMs({ aloneMs, serveCpuMs, workCpuMs, databaseCpuMs, bundles }: UnitCost, slotMs: number): number {
  // A bundle waits for half a slot on average before its own one.
  const slotsMs = bundles === 0 ? 0 : (bundles - 0.5) * slotMs;
  return Math.max(0, aloneMs - serveCpuMs - workCpuMs - databaseCpuMs - slotsMs);
}

/** The operations of a batch in their order. */
export const LIFE = [
  'init',
  'setup',
  'execute request',
  'execution',
  'closing',
] as const satisfies readonly Operation[];

export function sumOver(costs: Costs, pipelines: number, amount: Amount): number {
  return LIFE.reduce((sum, operation) => sum + costs.of(operation, pipelines)[amount], 0);
}
