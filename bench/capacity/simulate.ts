import { LAMPORTS_PER_SOL } from '@flywheel/protocol';
import { type Figures, markdownTable, timeMs } from '../figures.ts';
import { eventsPerPipelineFor, sizeFleet } from './simulation/advise.ts';
import type { Demand } from './simulation/demand.ts';
import { type Fleet, MAINNET } from './simulation/fleet.ts';
import { type Outcome, runDay, type Scenario } from './simulation/run-day.ts';
import { type Costs, readCosts } from './unit-costs.ts';

const SEED = 18;
const PROJECTS = [100, 10_000, 100_000] as const;
const PIPELINES_PER_DAY = [1e6, 30e6, 1e9] as const;
const COLLECT_MS = 60_000;
/** For how long collectors wait, on days of one size. */
const OTHER_COLLECT_MS = [10_000, COLLECT_MS, 600_000, 3_600_000] as const;
const FOLLOWED = 100_000;

/** One process of each kind, with the settings that they have by default, and limits as of a small plan of a provider. */
const SHIPPED: Fleet = {
  serves: 1,
  works: 1,
  databaseCores: 4,
  walBytesPerSecond: 100e6,
  standbyMs: 1,
  rpcPerSecond: 50,
  enginePerSecond: 1,
  operators: 1,
  caps: { openBatches: 50, openPipelines: 2_000, lockedLamports: 20e9, spentLamportsPerDay: 5e9 },
  placesPerWork: 1_024,
  sharedCores: null,
};

/** Simulates days of nine sizes, each on what is shipped and on a fleet of the size that it needs. */
export async function benchCapacity(): Promise<Figures> {
  const costs = await readCosts();
  let events = 0;
  let days: Day[] = [];
  let collected: Day[] = [];
  const tookMs = await timeMs(async () => {
    days = PROJECTS.flatMap((projects) => PIPELINES_PER_DAY.map((pipelines) => simulate(costs, projects, pipelines)));
    collected = OTHER_COLLECT_MS.map((collectMs) => simulate(costs, PROJECTS[1], PIPELINES_PER_DAY[0], collectMs));
  });
  for (const { shipped, sized } of [...days, ...collected]) events += shipped.events + sized.events;
  return {
    title: `days of ${PROJECTS.join(', ')} projects with ${PIPELINES_PER_DAY.join(', ')} pipelines, seed ${SEED}`,
    note: `${events} events in ${(tookMs / 1_000).toFixed(0)} s.`,
    rows: days.map(({ name, shipped, fleet }) => [
      name,
      `first: ${fullest(shipped, 1)}; needs ${fleet.serves} serve, ${fleet.works} work, ${fleet.databaseCores} cores of PostgreSQL`,
    ]),
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

function simulate(costs: Costs, projects: number, pipelinesPerDay: number, collectMs: number = COLLECT_MS): Day {
  const demand: Demand = {
    projects,
    pipelinesPerDay,
    eventsPerPipeline: 1,
    collectMs,
    approvalMs: 2_000,
    followed: FOLLOWED,
  };
  const scenario: Scenario = { demand, fleet: SHIPPED, chain: MAINNET, seed: SEED };
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
    ...['p50, p99', 'SOL a day', 'SOL locked at most', 'nonces', 'WAL a day'],
  ];
  const rows = days.map(({ name, eventsPerPipeline, fleet, sized }) => [
    ...[name, String(eventsPerPipeline), fleet.serves, fleet.works, fleet.databaseCores, fleet.operators].map(String),
    ...[amount(fleet.rpcPerSecond), amount(fleet.enginePerSecond), latency(sized)],
    ...[sol(sized.spentLamports), sol(sized.lockedLamports.most), amount(sized.mostNonces)],
    `${(sized.walBytes / 1e9).toFixed(0)} GB`,
  ]);
  return markdownTable(head, rows);
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
