import { type Figures, markdownTable, ms, percent } from '../figures.ts';
import { compareRequests, SAMPLES, WARM_UP } from './compare.ts';
import { REQUESTS } from './requests.ts';
import {
  compareRemovals,
  findLargestIndexes,
  type Rewrite,
  rewriteMonth,
  type TableSize,
  vacuumTables,
} from './storage.ts';
import { openPastWorld, type PastWorld } from './worlds.ts';

/** The batches of two pages, so that both databases give answers of one size. */
const FEW_PIPELINES = 1_200;
/** Ten million, a busy project's year, need 30 GB of disk; a busy machine stores 4,000 a second. */
const PIPELINES = Number(process.env.FLYWHEEL_BENCH_YEAR_PIPELINES ?? '400000');
/** Ends the fill of a slow machine, which is then the first part of the year. */
const FILL_MINUTES = Number(process.env.FLYWHEEL_BENCH_YEAR_FILL_MINUTES ?? '60');
const LARGEST_INDEXES = 8;

/** Measures requests on a database with a year of a project beside one with two pages of batches, and what it takes on disk. */
export async function benchYear(): Promise<Figures> {
  await using opened = new AsyncDisposableStack();
  const open = async (pipelines: number, hasNeighbours: boolean) => {
    const past = await openPastWorld({
      pipelines,
      hasNeighbours,
      nonces: SAMPLES + WARM_UP,
      limitMs: FILL_MINUTES * 60_000,
    });
    opened.defer(() => past.world.stop());
    return { ...past, sizes: await vacuumTables(past.world.db) };
  };
  const few = await open(FEW_PIPELINES, false);
  return await measure(few, await open(PIPELINES, true));
}

interface VacuumedPast extends PastWorld {
  readonly sizes: readonly TableSize[];
}

async function measure(few: VacuumedPast, many: VacuumedPast): Promise<Figures> {
  const { rows: requests, slower } = await compareRequests(REQUESTS, few, many);
  const removal = await compareRemovals(many.world.db);
  const rewrites = await rewriteMonth(many.world.db);
  const bytes = many.sizes.reduce((sum, { tableBytes, indexBytes }) => sum + tableBytes + indexBytes, 0);
  const indexes = await findLargestIndexes(many.world.db, LARGEST_INDEXES);
  return {
    title: `${span(many)} of ${many.pipelines} pipelines of four projects, nearly all of one, beside ${few.copies} batches`,
    note: [
      `Filled by SQL with ${many.copies} copies of four executed batches of 5 to 250 pipelines, 30 on average; warm; no worker runs.`,
      'The vacuum is the first one after the fill; those of PostgreSQL itself ran beside the fill.',
    ].join('\n'),
    rows: [
      ['requests of which the p50 is more than twice as long', `${slower} of ${requests.length}`],
      ['filled in', `${seconds(many.fillMs)}, ${(many.walBytes / 1e9).toFixed(1)} GB of WAL without full pages`],
      ['on disk', `${gigabytes(bytes)}, ${(bytes / many.pipelines).toFixed(0)} bytes per pipeline`],
      ['largest indexes', indexes.map((each) => `${each.name} ${gigabytes(each.bytes)}`).join(', ')],
      [`a month of events, ${removal.rows} rows, dropped`, ms(removal.dropMs)],
      ['the next month deleted, and vacuumed', `${ms(removal.deleteMs)} + ${ms(removal.vacuumMs)}`],
      ...rewrites.map(describeRewrite),
    ],
    details: `${markdownTable(['request', 'p50, few', 'p50, a year', 'ratio', 'p99, few', 'p99, a year', 'ratio'], requests)}

${markdownTable(['table', 'table', 'indexes', 'after the vacuum', 'vacuum', 'vacuums of PostgreSQL itself', 'dead rows'], many.sizes.map(describeSize))}
`,
  };
}

/** The part of the year that is filled. */
function span({ copies, wantedCopies }: PastWorld): string {
  return copies === wantedCopies ? 'a year' : `the first ${percent(copies, wantedCopies)} of a year`;
}

function describeSize(size: TableSize): string[] {
  return [
    size.table,
    gigabytes(size.tableBytes),
    gigabytes(size.indexBytes),
    gigabytes(size.vacuumedBytes),
    seconds(size.vacuumMs),
    `${size.autovacuums} in ${seconds(size.autovacuumMs)}`,
    String(size.deadRows),
  ];
}

function describeRewrite({ table, rows, vacuumMs, bytes: [before, once, twice] }: Rewrite): [string, string] {
  const sizes = `${gigabytes(before)} before, ${gigabytes(once)} after, ${gigabytes(twice)} after another time`;
  return [`a month of ${table} written once more`, `${rows} dead rows, vacuum ${ms(vacuumMs)}; ${sizes}`];
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

function seconds(duration: number): string {
  return `${(duration / 1_000).toFixed(1)} s`;
}
