import type { Pipeline } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { execute, getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { sql } from 'kysely';
import { listBatchRecords } from '../../apps/service/src/store/batches/batch-records.ts';
import { findEvents } from '../../apps/service/src/store/batches/events.ts';
import { findProofsByHash, findProofsBySignature } from '../../apps/service/src/store/batches/proofs.ts';
import { storeEndpoint } from '../../apps/service/test/webhooks/delivering.ts';
import { type Figures, ms, percentile, timeMs } from '../figures.ts';
import { makePipelines } from '../init.ts';
import { openSeparateWorld, type SeparateWorld, untilNonces } from '../separate-world.ts';
import { copyHash, copyId, copyKey, copySignature, fillPast } from './fill.ts';
import { compareRemovals, type TableSize, vacuumTables } from './storage.ts';

const PIPELINES_PER_BATCH = 20;
const SAMPLES = 60;
const WARM_UP = 10;
/** The batches of two pages, so that both databases give answers of one size. */
const FEW_BATCHES = 40;
/** Each takes 3.5 kB on disk: ten million, a busy project's year, need 35 GB and about an hour. */
const PIPELINES = Number(process.env.FLYWHEEL_BENCH_YEAR_PIPELINES ?? '400000');

/** Measures requests on a database with a year of a project beside one with two pages of batches, and what it takes on disk. */
export async function benchYear(): Promise<Figures> {
  await using opened = new AsyncDisposableStack();
  const open = async (copies: number) => {
    const world = await openSeparateWorld({ NONCE_POOL_SIZE: String(SAMPLES + WARM_UP + 10) });
    opened.defer(() => world.stop());
    return fillWorld(world, copies);
  };
  const few = await open(FEW_BATCHES);
  return await measure(few, await open(Math.ceil(PIPELINES / PIPELINES_PER_BATCH)));
}

/** A project with a past, in a world without a worker: setups would meet a chain that knows nothing of the past. */
interface PastWorld {
  readonly world: SeparateWorld;
  readonly project: TestProject;
  readonly copies: number;
  readonly fillMs: number;
  readonly sizes: readonly TableSize[];
  /** The request of each batch of the past. */
  readonly pipelines: readonly Pipeline[];
  /** The transaction that executed the first pipeline of the batch that was copied. */
  readonly signature: string;
}

async function fillWorld(world: SeparateWorld, copies: number): Promise<PastWorld> {
  const project = await createProject(world);
  const endpointId = await storeEndpoint(world.db, { id: project.projectId }, 'http://127.0.0.1:9/', [
    'batch.finalized',
    'batch.executed',
  ]);
  const pipelines = await makePipelines(PIPELINES_PER_BATCH);
  const batchId = await runBatch(world, project, pipelines);
  await untilNonces(world, SAMPLES + WARM_UP);
  await world.stopWork();
  const fillMs = await timeMs(() => fillPast(world.db, { batchId, copies, endpointId, deliveryDays: 45 }));
  const sizes = await vacuumTables(world.db);
  await sql`checkpoint`.execute(world.db);
  const [proof] = await findProofsByHash(world.db, [copyHash(0, 0)], 1);
  const sent = await world.db
    .selectFrom('bundles')
    .select('landed_signatures')
    .where('batch_id', '=', batchId)
    .where('phase', '=', 'execution')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();
  const signature = sent.landed_signatures.at(-1);
  if (proof === undefined || signature === undefined) throw new Error('The past has no proof.');
  return { world, project, copies, fillMs, sizes, pipelines, signature };
}

/** Executes a batch and waits until it is closed: nothing more is written of it. */
async function runBatch(world: SeparateWorld, project: TestProject, pipelines: readonly Pipeline[]): Promise<string> {
  const { apiKey, wallet } = project;
  const { batch, proposalApproveTx } = requireOk(await init(world.url, apiKey, pipelines));
  const read = async () => requireOk(await getBatch(world.url, apiKey, batch.id));
  await waitUntil('the setup', read, ({ status }) => status === 'FINALIZED');
  const signed = await signWith(wallet, proposalApproveTx);
  requireOk(await execute(world.url, apiKey, batch.id, signed, { prefer: 'wait=60' }));
  const isClosed = () =>
    world.db.selectFrom('batches').select('closed_at').where('id', '=', batch.id).executeTakeFirst();
  await waitUntil('the closing', isClosed, (row) => row?.closed_at != null);
  return batch.id;
}

type Operation = (past: PastWorld, sample: number) => Promise<unknown>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'current, none open': async ({ world, project }) => requireOk(await getCurrent(world.url, project.apiKey)),
  init: async ({ world, project }) => requireOk(await init(world.url, project.apiKey, await makePipelines())),
  'current, some open': async ({ world, project }) => requireOk(await getCurrent(world.url, project.apiKey)),
  'init replayed': async ({ world, project, pipelines, ...past }, sample) =>
    requireOk(await init(world.url, project.apiKey, pipelines, copyKey(pick(past, sample)))),
  get: async ({ world, project, ...past }, sample) =>
    requireOk(await getBatch(world.url, project.apiKey, copyId(pick(past, sample)))),
  'get with pipelines': async ({ world, project, ...past }, sample) =>
    requireOk(await getBatch(world.url, project.apiKey, copyId(pick(past, sample)), '?include=pipelines')),
  'list, first page': ({ world, project }) => list(world, project, ''),
  'list, a page in the middle': ({ world, project, copies }, sample) =>
    list(world, project, `?cursor=b${Math.max(25, pick({ copies }, sample))}`),
  'list of failed': ({ world, project }) => list(world, project, '?status=FAILED'),
  'list of the console': ({ world, project }) =>
    listBatchRecords(world.db, project.projectId, { status: undefined, waitsFor: undefined, below: null, limit: 21 }),
  'proof by hash': ({ world, ...past }, sample) => findProofsByHash(world.db, [copyHash(pick(past, sample), 3)], 10),
  'proof by signature': ({ world, signature, ...past }, sample) =>
    findProofsBySignature(world.db, copySignature(pick(past, sample), signature), 20),
  'events of a batch': ({ world, ...past }, sample) => findEvents(world.db, copyId(pick(past, sample)), 0n),
};

async function list({ url }: SeparateWorld, { apiKey }: TestProject, query: string): Promise<unknown> {
  return requireOk(await send(url, 'GET', `/v1/flywheel/batches${query}`, { key: apiKey }));
}

/** A copy that no sample before has read, from all over the year. */
function pick({ copies }: Pick<PastWorld, 'copies'>, sample: number): number {
  return Math.floor(copies * ((sample * GOLDEN) % 1));
}

const GOLDEN = 0.618_033_988_75;

async function measure(few: PastWorld, many: PastWorld): Promise<Figures> {
  const rows: (readonly [string, string])[] = [];
  for (const [name, run] of Object.entries(OPERATIONS)) {
    const took: { readonly few: number[]; readonly many: number[] } = { few: [], many: [] };
    for (let sample = 0; sample < SAMPLES + WARM_UP; sample++) {
      // In turn, so that a slow moment of the machine affects both.
      for (const which of sample % 2 === 0 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
        const elapsed = await timeMs(() => run(which === 'few' ? few : many, sample + 1));
        if (sample >= WARM_UP) took[which].push(elapsed);
      }
    }
    const [before, after] = [percentile(took.few, 0.5), percentile(took.many, 0.5)];
    rows.push([`${name}, p50`, `${ms(before)} → ${ms(after)}  × ${(after / before).toFixed(2)}`]);
  }
  const removal = await compareRemovals(many.world.db);
  const pipelines = many.copies * PIPELINES_PER_BATCH;
  const bytes = many.sizes.reduce((sum, { tableBytes, indexBytes }) => sum + tableBytes + indexBytes, 0);
  return {
    title: `a year of ${pipelines} pipelines in ${many.copies} batches beside ${few.copies} batches`,
    note: `Filled by SQL with copies of one executed batch in ${seconds(many.fillMs)}; warm; no worker runs.`,
    rows: [
      ...rows,
      ['on disk', `${gigabytes(bytes)}, ${(bytes / pipelines).toFixed(0)} bytes per pipeline`],
      ...many.sizes.map(describeSize),
      [`a month of events, ${removal.rows} rows, dropped`, ms(removal.dropMs)],
      ['the next month deleted, and vacuumed', `${ms(removal.deleteMs)} + ${ms(removal.vacuumMs)}`],
    ],
  };
}

function describeSize({ table, tableBytes, indexBytes, vacuumMs }: TableSize): readonly [string, string] {
  return [`  ${table}`, `${gigabytes(tableBytes)} + ${gigabytes(indexBytes)} of indexes; vacuum ${seconds(vacuumMs)}`];
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

function seconds(duration: number): string {
  return `${(duration / 1_000).toFixed(1)} s`;
}
