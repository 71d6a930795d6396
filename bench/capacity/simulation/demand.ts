import type { Random } from './random.ts';

export const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Most pipelines of a batch (docs/decisions/0018). */
const MAX_PIPELINES = 1_000;

/** The work that projects ask for in a day. */
export interface Demand {
  readonly projects: number;
  readonly pipelinesPerDay: number;
  /** Events that one pipeline pays for: a merged payload lists them (docs/decisions/0081). */
  readonly eventsPerPipeline: number;
  /** A project's collector sends a batch when its oldest event has waited for so long. */
  readonly collectMs: number;
  /** Time between a batch that is set up and its approval. */
  readonly approvalMs: number;
  /** Batches that the day is simulated with; each stands for one batch of several projects of about the same size. */
  readonly followed: number;
}

/** Projects of about the same size, whose batches come at the same moments. */
export interface Cell {
  readonly projects: number;
  /** Pipelines of each batch. */
  readonly pipelines: number;
  /** Batches that each project sends in a mean day. */
  readonly batchesPerDay: number;
}

/** Bursts of a day: at random moments all of it, or one cell, sends several times as much. */
export interface Burst {
  readonly startMs: number;
  readonly endMs: number;
  readonly factor: number;
  /** Null if all projects take part. */
  readonly cell: number | null;
}

/**
 * Divides projects, whose sizes follow Zipf's law, into cells. The busiest one of 100 has a fifth of all events, the busiest one of
 * 100,000 a twelfth.
 */
export function createCells(demand: Demand): Cell[] {
  const { projects, pipelinesPerDay, eventsPerPipeline } = demand;
  const total = harmonic(projects);
  const pipelinesOf = (rank: number) => pipelinesPerDay / eventsPerPipeline / rank / total;
  const batchesOf = (rank: number) => batchesPerDay(pipelinesOf(rank), demand.collectMs);
  let batches = 0;
  for (let rank = 1; rank <= projects; rank++) batches += batchesOf(rank);
  const perCell = Math.max(1, batches / demand.followed);
  const cells: Cell[] = [];
  let debt = 0;
  for (let rank = 1; rank <= projects; ) {
    // A fraction of a project is carried to the next cell.
    debt += perCell;
    const size = Math.min(projects - rank + 1, Math.max(1, Math.floor(debt)));
    debt -= size;
    let pipelines = 0;
    let sent = 0;
    for (let member = rank; member < rank + size; member++) {
      pipelines += pipelinesOf(member);
      sent += batchesOf(member);
    }
    cells.push({
      projects: size,
      pipelines: Math.max(1, Math.round(pipelines / sent)),
      batchesPerDay: pipelinesOver(pipelines, sent, size),
    });
    rank += size;
  }
  return cells;
}

/** Keeps a cell's pipelines what they are, although those of a batch were rounded. */
function pipelinesOver(pipelines: number, batches: number, projects: number): number {
  return pipelines / Math.max(1, Math.round(pipelines / batches)) / projects;
}

function harmonic(count: number): number {
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sum += 1 / rank;
  return sum;
}

/** A collector waits for its first event, then collects for a while, or until a batch is full. */
function batchesPerDay(pipelinesPerDay: number, collectMs: number): number {
  const betweenMs = DAY_MS / pipelinesPerDay;
  const fullMs = Math.min(collectMs, MAX_PIPELINES * betweenMs);
  return DAY_MS / (fullMs + betweenMs);
}

/** The day's curve: 60 % above the mean at 15:00, as much below it at 3:00. */
export function shareOfMean(atMs: number): number {
  return 1 + 0.6 * Math.sin(2 * Math.PI * (atMs / DAY_MS - 9 / 24));
}

/** One burst of all projects, three times as much for ten minutes, and twenty of one cell, ten times as much for five. */
export function createBursts(random: Random, cells: number): Burst[] {
  const burst = (minutes: number, factor: number, cell: number | null): Burst => {
    const startMs = random.next() * (DAY_MS - minutes * MINUTE_MS);
    return { startMs, endMs: startMs + minutes * MINUTE_MS, factor, cell };
  };
  const own = Array.from({ length: CELL_BURSTS }, () => burst(5, 10, Math.floor(random.next() * cells)));
  return [burst(10, 3, null), ...own];
}

const CELL_BURSTS = 20;

/** One batch of every project of a cell. */
export interface Arrival {
  readonly atMs: number;
  readonly cell: number;
}

/** Draws the arrivals of a day in their order, minute by minute. */
export function* drawArrivals(random: Random, cells: readonly Cell[], bursts: readonly Burst[]): Generator<Arrival> {
  const perMinute = cells.map(({ batchesPerDay }) => (batchesPerDay * MINUTE_MS) / DAY_MS);
  const sums: number[] = [];
  for (const rate of perMinute) sums.push((sums.at(-1) ?? 0) + rate);
  const total = sums.at(-1) ?? 0;
  for (let atMs = 0; atMs < DAY_MS; atMs += MINUTE_MS) {
    const active = bursts.filter(({ startMs, endMs }) => startMs <= atMs && atMs < endMs);
    const common = active.filter(({ cell }) => cell === null).reduce((product, { factor }) => product * factor, 1);
    const factor = shareOfMean(atMs) * common;
    const arrivals: Arrival[] = [];
    const add = (count: number, pick: () => number) => {
      for (let i = 0; i < count; i++) arrivals.push({ atMs: atMs + random.next() * MINUTE_MS, cell: pick() });
    };
    add(random.poisson(total * factor), () => placeOf(sums, random.next() * total));
    for (const { cell, factor: own } of active) {
      if (cell !== null) add(random.poisson((perMinute[cell] ?? 0) * factor * (own - 1)), () => cell);
    }
    yield* arrivals.sort((a, b) => a.atMs - b.atMs);
  }
}

/** Finds the first place whose sum is above the value, by halving. */
function placeOf(sums: readonly number[], value: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
