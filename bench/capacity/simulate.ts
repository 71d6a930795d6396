import { LAMPORTS_PER_SOL } from '@flywheel/protocol';
import { type Figures, markdownTable, timeMs } from '../figures.ts';
import { eventsPerPipelineFor, peakOf, sizeFleet } from './simulation/advise.ts';
import type { Demand } from './simulation/demand.ts';
import { type Fleet, MAINNET } from './simulation/fleet.ts';
import { type Outcome, runDay, type Scenario } from './simulation/run-day.ts';
import { readStandbyCosts, type StandbyCosts } from './standby.ts';
import { type Costs, readCosts } from './unit-costs.ts';

const SEED = 18;
const PROJECTS = [100, 10_000, 100_000] as const;
const PIPELINES_PER_DAY = [1e6, 30e6, 1e9] as const;
const COLLECT_MS = 60_000;
/** For how long collectors wait, on days of one size. */
const OTHER_COLLECT_MS = [10_000, COLLECT_MS, 600_000, 3_600_000] as const;
const FOLLOWED = 100_000;

/** Milliseconds of the network to a standby in another zone and back; an assumption. */
const ZONE_MS = 1;
/** Prices as of 2026, in dollars: a core with 4 GiB of a large provider for an hour, and a million calls of a provider of nodes. */
const [CORE_HOUR_DOLLARS, MILLION_CALLS_DOLLARS] = [0.05, 5];

/**
 * One process of each kind, with the settings that they have by default, PostgreSQL with two standbys, and limits as of a small plan
 * of a provider.
 */
function shippedWith({ confirmMs, replayBytesPerSecond }: StandbyCosts): Fleet {
  return {
    serves: 1,
    works: 1,
    databaseCores: 4,
    walBytesPerSecond: 100e6,
    standbys: { count: 2, confirmMs: confirmMs + ZONE_MS, sentBytesPerSecond: 125e6, replayBytesPerSecond },
    rpcPerSecond: 50,
    enginePerSecond: 1,
    operators: 1,
    caps: { openBatches: 50, openPipelines: 2_000, lockedLamports: 20e9, spentLamportsPerDay: 5e9 },
    placesPerWork: 1_024,
    sharedCores: null,
  };
}

/** Simulates days of nine sizes, each on what is shipped and on a fleet of the size that it needs. */
export async function benchCapacity(): Promise<Figures> {
  const costs = await readCosts();
  const shippedFleet = shippedWith(await readStandbyCosts());
  let most: Outcome | undefined;
  let events = 0;
  let days: Day[] = [];
  let collected: Day[] = [];
  const tookMs = await timeMs(async () => {
    const simulate = (projects: number, pipelinesPerDay: number, collectMs = COLLECT_MS) =>
      simulateDay(costs, shippedFleet, { projects, pipelinesPerDay, collectMs });
    most = findMost(costs, shippedFleet);
    days = PROJECTS.flatMap((projects) => PIPELINES_PER_DAY.map((pipelines) => simulate(projects, pipelines)));
    collected = OTHER_COLLECT_MS.map((collectMs) => simulate(PROJECTS[1], PIPELINES_PER_DAY[0], collectMs));
  });
  for (const { shipped, sized } of [...days, ...collected]) events += shipped.events + sized.events;
  if (!most) throw new Error('The days were not simulated.');
  return {
    title: `days of ${PROJECTS.join(', ')} projects with ${PIPELINES_PER_DAY.join(', ')} pipelines, seed ${SEED}`,
    note: `${events} events in ${(tookMs / 1_000).toFixed(0)} s.`,
    rows: [
      [
        `most of ${MOST_PROJECTS} projects on what is shipped`,
        `${amount(most.batches.executed)} batches, ${amount(most.pipelinesExecuted)} pipelines a day; first: ${fullest(most, 1)}`,
      ],
      ...days.map(
        ({ name, shipped, fleet }) =>
          [
            name,
            `first: ${fullest(shipped, 1)}; needs ${fleet.serves} serve, ${fleet.works} work, ${fleet.databaseCores} cores of PostgreSQL`,
          ] as const,
      ),
    ],
    details: [shippedTable(days), sizedTable(days), `Collectors that wait longer:\n\n${sizedTable(collected)}`].join(
      '\n\n',
    ),
  };
}

interface Day {
  readonly name: string;
  readonly shipped: Outcome;
  readonly eventsPerPipeline: number;
  readonly fleet: Fleet;
  readonly sized: Outcome;
}

type Size = Pick<Demand, 'projects' | 'pipelinesPerDay' | 'collectMs'>;

function scenarioOf(fleet: Fleet, size: Size): Scenario {
  const demand = { ...size, eventsPerPipeline: 1, approvalMs: 2_000, followed: FOLLOWED };
  return { demand, fleet, chain: MAINNET, seed: SEED };
}

/** Projects of the day whose size is looked for. */
const MOST_PROJECTS = PROJECTS[0];
/** All batches of such a day are executed, 99 % of them within this time. */
const IN_TIME_SECONDS = 60;
const STEPS = 12;

/** Finds by halving the largest day on which all batches are executed, so that no cap refuses one, and 99 % of them in time. */
function findMost(costs: Costs, fleet: Fleet): Outcome {
  let [low, high] = [1, PIPELINES_PER_DAY[0] as number];
  let found: Outcome | undefined;
  for (let step = 0; step < STEPS; step++) {
    const pipelinesPerDay = Math.sqrt(low * high);
    const outcome = runDay(
      scenarioOf(fleet, { projects: MOST_PROJECTS, pipelinesPerDay, collectMs: COLLECT_MS }),
      costs,
    );
    const { batches, executionSeconds } = outcome;
    const isServed = batches.executed === batches.created && (executionSeconds?.p99 ?? 0) <= IN_TIME_SECONDS;
    if (isServed) [low, found] = [pipelinesPerDay, outcome];
    else high = pipelinesPerDay;
  }
  if (!found) throw new Error('No day is small enough for what is shipped.');
  return found;
}

function simulateDay(costs: Costs, shippedFleet: Fleet, size: Size): Day {
  const { projects, pipelinesPerDay, collectMs } = size;
  const scenario = scenarioOf(shippedFleet, size);
  const { demand } = scenario;
  const shipped = runDay(scenario, costs);
  const eventsPerPipeline = eventsPerPipelineFor(shipped);
  const merged = { ...scenario, demand: { ...demand, eventsPerPipeline } };
  const fleet = sizeFleet(merged, eventsPerPipeline === 1 ? shipped : runDay(merged, costs));
  const sized = runDay({ ...merged, fleet }, costs);
  return {
    name: `${amount(projects)} projects, ${amount(pipelinesPerDay)} a day${collectMs === COLLECT_MS ? '' : `, after ${duration(collectMs / 1_000)}`}`,
    shipped,
    eventsPerPipeline,
    fleet,
    sized,
  };
}

function shippedTable(days: readonly Day[]): string {
  const head = [
    'projects, events a day',
    'what is full, busiest five minutes',
    'executed',
    'refused by caps',
    'p50, p99',
  ];
  const rows = days.map(({ name, shipped }) => {
    const { created, executed, refused } = shipped.batches;
    return [name, fullest(shipped, 4), percent(executed, created), percent(refused, created), latency(shipped)];
  });
  return markdownTable(head, rows);
}

function sizedTable(days: readonly Day[]): string {
  const head = [
    ...[
      'projects, events a day',
      'events a pipeline',
      '`serve`',
      '`work`',
      'PostgreSQL cores',
      'operators',
      'RPC/s',
      'engine/s',
    ],
    ...['p50, p99', 'SOL a day', 'SOL locked at most', 'nonces', 'WAL a day', "standby's replay"],
    ...['RPC calls a day', 'dollars a day: machines, RPC'],
  ];
  const rows = days.map(({ name, eventsPerPipeline, fleet, sized }) => [
    ...[name, String(eventsPerPipeline), fleet.serves, fleet.works, fleet.databaseCores, fleet.operators].map(String),
    ...[amount(fleet.rpcPerSecond), amount(fleet.enginePerSecond), latency(sized)],
    ...[sol(sized.spentLamports), sol(sized.lockedLamports.most), amount(sized.mostNonces)],
    `${(sized.walBytes / 1e9).toFixed(0)} GB`,
    percent(peakOf(sized.utilisations, "standby's replay"), 1),
    amount(sized.rpcCalls),
    `${amount(coresOf(fleet) * 24 * CORE_HOUR_DOLLARS)}, ${amount((sized.rpcCalls / 1e6) * MILLION_CALLS_DOLLARS)}`,
  ]);
  return markdownTable(head, rows);
}

/** Each process of ours takes a core, and each standby as many as the primary. */
function coresOf({ serves, works, databaseCores, standbys }: Fleet): number {
  return serves + works + databaseCores * (1 + (standbys?.count ?? 0));
}

function fullest({ utilisations }: Outcome, count: number): string {
  return utilisations
    .slice(0, count)
    .map(({ name, peak }) => `${name} ${peak < 10 ? peak.toFixed(2) : amount(peak)}`)
    .join(', ');
}

function latency({ executionSeconds }: Outcome): string {
  if (executionSeconds === null) return 'none';
  const { p50, p99 } = executionSeconds;
  return `${duration(p50)}, ${duration(p99)}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7_200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(part === whole ? 0 : 1)} %`;
}

function sol(lamports: number): string {
  return amount(lamports / LAMPORTS_PER_SOL);
}

/** Three digits, in English: `1,230`, `12.3`, `30 M`. */
function amount(value: number): string {
  if (value >= 1e9) return `${Number((value / 1e9).toPrecision(3))} B`;
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}
