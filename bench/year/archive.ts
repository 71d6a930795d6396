import { packBatch } from '@flywheel/service/internal/store/batches/archive.ts';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { sql } from 'kysely';
import { type Figures, markdownTable, ms, percentile, timeMs } from '../figures.ts';
import { compareRequests, SAMPLES, timeAnswer, WARM_UP } from './compare.ts';
import { CYCLE, copyId } from './fill.ts';
import { REQUESTS, type Request } from './requests.ts';
import { type TableSize, vacuumTables, withoutTimeout } from './storage.ts';
import { openPastWorld, type PastWorld, readWalBytes } from './worlds.ts';

const PIPELINES = Number(process.env.FLYWHEEL_BENCH_ARCHIVE_PIPELINES ?? '120000');
const DAYS = 90;

const REVIEW = 'company: review of a batch';
/** Requests that read a batch, or look for one of its pipelines. */
const READS = [
  ...['init replayed by its idempotency key', 'get of a batch', 'get with pipelines', 'list, a page in the middle'],
  ...[
    'events of a batch, the whole stream',
    'proof by the hash of its payload',
    'proof by the transaction of its pipeline',
  ],
  ...['console: a batch'],
];

/** Measures what the batches of a past take before and after they are packed, and requests for packed ones beside others. */
export async function benchArchive(): Promise<Figures> {
  const past = await openPastWorld({ pipelines: PIPELINES, hasNeighbours: false, nonces: 2 });
  const { db } = past.world;
  try {
    await sql`
      update batches set end_finalized_at = end_finalized_at - ${DAYS + 10}::int * interval '1 day' where end_finalized_at is not null
    `.execute(db);
    const before = await rewrite(db);
    await requestOf('init of 10 pipelines')(past, 0);
    const reviewBefore = await timeReview(past);

    const half = Math.floor(past.copies / 2 / CYCLE) * CYCLE;
    const walBefore = await readWalBytes(db);
    const took = await pack(past, 0, half);
    const walBytes = (await readWalBytes(db)) - walBefore;
    await vacuumTables(db);
    const packed = { ...past, copies: half };
    const unpacked = { ...past, first: half, copies: past.copies - half };
    const reads = Object.entries(REQUESTS).filter(([name]) => READS.includes(name) || name.includes('from the store'));
    const { rows, slower } = await compareRequests(Object.fromEntries(reads), unpacked, packed);

    await pack(past, half, past.copies);
    await requestOf('init of 10 pipelines')(past, 0);
    const reviewAfter = await timeReview(past);
    const vacuumed = await vacuumTables(db);
    const after = await rewrite(db);
    const perPipeline = (sizes: readonly TableSize[]) => `${(bytesOf(sizes) / past.pipelines).toFixed(0)} bytes`;
    return {
      title: `${past.copies} batches with ${past.pipelines} pipelines, packed`,
      note: 'Copies of four executed batches of 5 to 250 pipelines, 30 on average, half of them packed for the requests; warm; no worker runs.',
      rows: [
        ['a pipeline on disk, with all indexes', perPipeline(before)],
        ['the same, packed', perPipeline(after)],
        ['saved', `${(100 - (100 * bytesOf(after)) / bytesOf(before)).toFixed(0)} %`],
        ['the files after a plain vacuum, which leaves space for later rows', perPipeline(vacuumed)],
        ['requests of which the p50 is more than twice as long', `${slower} of ${rows.length}`],
        ['packing a batch, p50 and p99', `${ms(percentile(took, 0.5))}, ${ms(percentile(took, 0.99))}`],
        ['WAL of packing a pipeline', `${((2 * walBytes) / past.pipelines).toFixed(0)} bytes`],
        [`${REVIEW}, p50, beside unpacked ones, then packed ones`, `${ms(reviewBefore)}, ${ms(reviewAfter)}`],
      ],
      details: `${markdownTable(['request', 'p50', 'p50, packed', 'ratio', 'p99', 'p99, packed', 'ratio'], rows)}

${markdownTable(['table', 'bytes of a pipeline', 'packed'], compareSizes(before, after, past.pipelines))}
`,
    };
  } finally {
    await past.world.stop();
  }
}

function requestOf(name: string): Request {
  const request = REQUESTS[name];
  if (!request) throw new Error(`There is no request ${name}.`);
  return request;
}

async function timeReview(past: PastWorld): Promise<number> {
  const took: number[] = [];
  for (let sample = 0; sample < SAMPLES + WARM_UP; sample++) {
    const elapsed = await timeAnswer(() => requestOf(REVIEW)(past, sample));
    if (sample >= WARM_UP) took.push(elapsed);
  }
  return percentile(took, 0.5);
}

/** Packs copies one after another, without pauses. @returns milliseconds of each. */
async function pack({ world, ...past }: PastWorld, from: number, to: number): Promise<number[]> {
  const took: number[] = [];
  for (let n = from; n < to; n++) {
    took.push(
      await timeMs(async () => {
        if (!(await packBatch(world.db, copyId(n), DAYS)))
          throw new Error(`Copy ${n} of ${past.copies} is not packed.`);
      }),
    );
  }
  return took;
}

/** Writes the tables again without dead rows. @returns their sizes then. */
async function rewrite(db: Db): Promise<TableSize[]> {
  for (const table of ['batches', 'pipelines', 'bundles', 'batch_archives']) {
    await withoutTimeout(db, sql`vacuum full ${sql.table(table)}`);
  }
  return vacuumTables(db);
}

function bytesOf(sizes: readonly TableSize[]): number {
  return sizes.reduce((sum, { tableBytes, indexBytes }) => sum + tableBytes + indexBytes, 0);
}

function compareSizes(before: readonly TableSize[], after: readonly TableSize[], pipelines: number): string[][] {
  const describe = (sizes: readonly TableSize[], table: string) => {
    const size = sizes.find((each) => each.table === table);
    return size ? `${(size.tableBytes / pipelines).toFixed(0)} + ${(size.indexBytes / pipelines).toFixed(0)}` : '';
  };
  return after.map(({ table }) => [table, describe(before, table), describe(after, table)]);
}
