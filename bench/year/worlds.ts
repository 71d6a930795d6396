import type { Db } from '@flywheel/service/internal/store/db.ts';
import { waitUntil } from '@flywheel/testing/batches';
import { type Answer, execute, getBatch, init } from '@flywheel/testing/client';
import { createProject, requireOk, signIn, signWith, type TestProject } from '@flywheel/testing/project';
import { storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { makePipelines } from '../init.ts';
import { openSeparateWorld, type SeparateWorld, untilNonces } from '../separate-world.ts';
import { addPastPartitions, CYCLE, countPipelines, fillPast, type Template } from './fill.ts';
import { withoutTimeout } from './storage.ts';

/** Pipelines of a batch, and how many of `CYCLE` batches have them: 30 on average. */
const SIZES = [
  { pipelines: 5, weight: 10 },
  { pipelines: 20, weight: 6 },
  { pipelines: 60, weight: 3 },
  { pipelines: 250, weight: 1 },
] as const;
export const LARGEST = SIZES[3].pipelines;
const PIPELINES_PER_CYCLE = 600;
/** Other projects of the full database, each with a part of the copies of the busy one. */
const NEIGHBOURS = 3;
const PART_OF_A_NEIGHBOUR = 0.005;
/** A batch of `LARGEST` takes about a minute. */
const WAIT = 5 * 60_000;
/** More than `WEBHOOK_RETENTION_DAYS` by default, by half a month. */
const DELIVERY_DAYS = 45;

/** A project with a past, in a world without a worker: setups would meet a chain that knows nothing of the past. */
export interface PastWorld {
  readonly world: SeparateWorld;
  readonly project: TestProject;
  /** Session of an operator of the company. */
  readonly companyCookie: string;
  /** Number of the first copy of the project's templates that requests read. */
  readonly first: number;
  /** Copies from there on. */
  readonly copies: number;
  /** Copies of the whole year; fewer are made if the fill reaches its limit. */
  readonly wantedCopies: number;
  readonly templates: readonly Template[];
  /** Pipelines of all projects. */
  readonly pipelines: number;
  readonly fillMs: number;
  readonly walBytes: number;
  /** The transaction that executed the first pipelines of the first template. */
  readonly signature: string;
  /** Id of the newest batch that a measured init has created. */
  newestId: string;
}

export interface PastOptions {
  /** At least so many pipelines of the busy project, fewer if the fill reaches its limit. */
  readonly pipelines: number;
  readonly limitMs?: number;
  readonly hasNeighbours: boolean;
  /** Free nonces for inits to measure. */
  readonly nonces: number;
}

/** Opens a service with its processes and database, and fills it. */
export async function openPastWorld({ hasNeighbours, nonces, ...wanted }: PastOptions): Promise<PastWorld> {
  const operator = await generateKeyPairSigner();
  const world = await openSeparateWorld(
    { NONCE_POOL_SIZE: String(nonces + 10), COMPANY_OPERATORS: operator.address },
    // As an operator sets it for this machine: a sixth of its memory.
    { postgresSettings: { shared_buffers: '4GB' } },
  );
  try {
    const wantedCopies = Math.ceil(wanted.pipelines / PIPELINES_PER_CYCLE) * CYCLE;
    const project = await createProject(world, { vaultBaseUnits: 10n ** 15n });
    const busy = await runTemplates(world, project, SIZES);
    const neighbours = hasNeighbours ? await runNeighbours(world) : [];
    await untilNonces(world, nonces);
    await world.stopWork();
    await relaxDurability(world.db, true);
    await addPastPartitions(world.db);
    const before = await readWalBytes(world.db);
    const started = performance.now();
    const all = { first: 0, copies: wantedCopies, deliveryDays: DELIVERY_DAYS };
    const limit = wanted.limitMs === undefined ? {} : { limitMs: wanted.limitMs };
    const copies = await fillPast(world.db, { ...busy, ...all, ...limit }, showProgress(wantedCopies));
    const part = Math.ceil((copies * PART_OF_A_NEIGHBOUR) / CYCLE) * CYCLE;
    for (const [i, neighbour] of neighbours.entries()) {
      const first = copies + i * part;
      await fillPast(world.db, { ...neighbour, first, copies: part, deliveryDays: DELIVERY_DAYS }, () => undefined);
    }
    const fillMs = performance.now() - started;
    const walBytes = (await readWalBytes(world.db)) - before;
    await relaxDurability(world.db, false);
    return {
      world,
      project,
      companyCookie: await signIn(world.url, operator),
      first: 0,
      copies,
      wantedCopies,
      templates: busy.templates,
      pipelines: countPipelines(busy.templates, 0, copies) + neighbours.length * part * NEIGHBOUR_SIZE.pipelines,
      fillMs,
      walBytes,
      signature: await findSignature(world.db, busy.templates),
      newestId: '',
    };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

const NEIGHBOUR_SIZE = { pipelines: 20, weight: CYCLE };

async function runNeighbours(world: SeparateWorld) {
  const neighbours: Awaited<ReturnType<typeof runTemplates>>[] = [];
  for (let i = 0; i < NEIGHBOURS; i++) {
    neighbours.push(await runTemplates(world, await createProject(world), [NEIGHBOUR_SIZE]));
  }
  return neighbours;
}

async function runTemplates(
  world: SeparateWorld,
  project: TestProject,
  sizes: readonly { readonly pipelines: number; readonly weight: number }[],
) {
  const endpointId = await storeEndpoint(world.db, { id: project.projectId }, 'http://127.0.0.1:9/');
  const templates: Template[] = [];
  for (const { pipelines: count, weight } of sizes) {
    const pipelines = (await makePipelines(count)).map(({ payload, actions, ...pipeline }, i) => ({
      ...pipeline,
      payload: lengthen(payload),
      // Each second one burns only.
      actions: i % 2 === 0 ? actions : actions.slice(0, 1),
    }));
    templates.push({ batchId: await runBatch(world, project, pipelines), pipelines, weight });
  }
  return { endpointId, templates };
}

/** An order as shops write it, about 250 bytes. */
function lengthen(payload: string): string {
  const { orderId } = JSON.parse(payload) as { readonly orderId: string };
  const items = [
    { sku: 'SKU-0042-BLACK-XL', quantity: 2, unitPrice: '24.90' },
    { sku: 'SKU-1107-GIFT', quantity: 1, unitPrice: '9.50' },
  ];
  return JSON.stringify({ orderId, customer: orderId.slice(0, 8), currency: 'EUR', total: '59.30', items });
}

/** Executes a batch and waits until it is closed: nothing more is written of it. */
async function runBatch(
  world: SeparateWorld,
  { apiKey, wallet }: TestProject,
  pipelines: Template['pipelines'],
): Promise<string> {
  const { batch, proposalApproveTx } = requireOk(await init(world.url, apiKey, pipelines));
  const read = async (): Promise<Answer['body']> => requireOk(await getBatch(world.url, apiKey, batch.id));
  await waitUntil('the setup', read, ({ status }) => status === 'FINALIZED', { timeoutMs: WAIT });
  const asked = await execute(world.url, apiKey, batch.id, await signWith(wallet, proposalApproveTx));
  if (asked.status > 202) throw new Error(`Execute answered ${asked.status}.`);
  const isClosed = () =>
    world.db.selectFrom('batches').select('closed_at').where('id', '=', batch.id).executeTakeFirst();
  await waitUntil('the closing', isClosed, (row) => row?.closed_at != null, { timeoutMs: WAIT });
  return batch.id;
}

/** A fill need not survive a crash of the machine. Everything that is measured is written as durably as in production. */
async function relaxDurability(db: Db, isRelaxed: boolean): Promise<void> {
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    await (isRelaxed
      ? sql`alter system set ${sql.id(name)} = off`.execute(db)
      : sql`alter system reset ${sql.id(name)}`.execute(db));
  }
  await sql`select pg_reload_conf()`.execute(db);
  if (!isRelaxed) await withoutTimeout(db, sql`checkpoint`);
}

export async function readWalBytes(db: Db): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as bytes`.execute(
    db,
  );
  return rows[0]?.bytes ?? Number.NaN;
}

function showProgress(copies: number): (made: number) => void {
  const started = performance.now();
  let shown = 0;
  return (made) => {
    const percent = Math.floor((20 * made) / copies) * 5;
    if (percent === shown) return;
    shown = percent;
    process.stderr.write(
      `  ${percent} % of ${copies} batches in ${((performance.now() - started) / 1_000).toFixed(0)} s\n`,
    );
  };
}

async function findSignature(db: Db, [template]: readonly Template[]): Promise<string> {
  const sent = await db
    .selectFrom('bundles')
    .select('landed_signatures')
    .where('batch_id', '=', template?.batchId ?? '')
    .where('phase', '=', 'execution')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();
  const signature = sent.landed_signatures.at(-1);
  if (signature === undefined) throw new Error('The past has no landed signature.');
  return signature;
}
