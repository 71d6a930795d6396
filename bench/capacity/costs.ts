import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '@flywheel/testing/batches';
import { execute, getBatch, getCurrent, init, send } from '@flywheel/testing/client';
import { requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { queueEvent, storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import { openReceiver } from '@flywheel/testing/webhook-receiver';
import type { Figures } from '../figures.ts';
import { makePipelines } from '../init.ts';
import { createProjects, inParallel, untilNonces } from '../separate-world.ts';
import { readOnChain } from './batches-on-chain.ts';
import { type Counted, type CountedWorld, openCountedWorld, type Reading } from './counted-world.ts';
import { formatCosts, type Operation, type UnitCost } from './unit-costs.ts';

const PROJECTS = 16;
/** Sizes of batches, with how many are measured together, one of a project, and how many are timed one by one. */
const BATCHES = [
  { pipelines: 1, together: 16, alone: 2 },
  { pipelines: 10, together: 16, alone: 2 },
  { pipelines: 1_000, together: 1, alone: 1 },
] as const;
const NONCES = 60;
/** Autovacuum begins once a minute; a shorter time has all of its work, or none. */
const IDLE_MS = 60_000;
const AT_A_TIME = 8;
const READS = 200;
const PREVIEWS = 30;
const LOOKUPS = 40;
const WEBHOOKS = 100;
const POLL_MS = 20;

/** Measures what each operation takes, in one pair of processes, with the cluster and PostgreSQL beside them. */
export async function benchCosts(): Promise<Figures> {
  const world = await openCountedWorld(
    { NONCE_POOL_SIZE: String(NONCES), NONCE_POOL_MAX: String(2 * NONCES) },
    { finalizedLagSlots: 31 },
  );
  try {
    const { costs, methods } = await measure(world);
    return {
      title: 'what one operation takes, in one `serve` and one `work`',
      note: 'CPU is user and system time of the processes, to 10 ms of a whole phase; that of an idle pair is subtracted where `work` runs. Alone: the time of one batch with no other of ours, on the machine as loaded as its load says. Through proxies that count; slots of 400 ms, finality after 31 slots. `serve` checks each execute request on a node. The proof that is looked up is of no batch.',
      rows: methods,
      details: formatCosts(costs),
    };
  } finally {
    await world.stop();
  }
}

interface Measured {
  readonly costs: UnitCost[];
  /** Calls and requests by method, of each operation that makes any. */
  readonly methods: [string, string][];
}

async function measure(world: CountedWorld): Promise<Measured> {
  const meter = createMeter(world);
  await untilNonces(world, NONCES);
  await meter.measureIdle();
  const projects: TestProject[] = [];
  await meter.phase('register', 0, PROJECTS, async () => {
    projects.push(...(await createProjects(world, PROJECTS)));
  });
  const [first] = projects;
  if (!first) throw new Error('A project is missing.');
  const alone = new Map<number, readonly Started[]>();
  for (const { pipelines, alone: batches } of BATCHES) {
    const started: Started[] = [];
    for (let i = 0; i < batches; i++) started.push(await runAlone(world, first, pipelines));
    alone.set(pipelines, started);
  }
  await untilClosed(world, [...alone.values()].flat());
  const many = new Map<number, readonly Started[]>();
  for (const { pipelines, together } of BATCHES) {
    many.set(pipelines, await runTogether(world, meter, projects, pipelines, together));
  }
  await measureReads(world, meter, first);
  await measureWebhooks(world, meter, first);
  const costs = meter.costs();
  for (const { pipelines } of BATCHES) {
    const onChain = await readOnChain(
      world.db,
      (many.get(pipelines) ?? []).map(({ id }) => id),
    );
    const times = (alone.get(pipelines) ?? []).map(({ times }) => times);
    for (const [operation, amounts] of Object.entries(onChain)) {
      const cost = costs.find((each) => each.operation === operation && each.pipelines === pipelines);
      if (cost) Object.assign(cost, amounts);
    }
    for (const operation of ['setup', 'execution'] as const) {
      const cost = costs.find((each) => each.operation === operation && each.pipelines === pipelines);
      if (cost) Object.assign(cost, { aloneMs: Math.min(...times.map((each) => each[operation])) });
    }
  }
  return { costs, methods: meter.methods() };
}

interface Started {
  readonly id: string;
  readonly project: TestProject;
  readonly signedTx: string;
  readonly times: { readonly setup: number; readonly execution: number };
}

async function start(world: CountedWorld, project: TestProject, pipelines: number): Promise<Started> {
  const body = await makePipelines(pipelines);
  const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, body));
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  return { id: batch.id, project, signedTx, times: { setup: 0, execution: 0 } };
}

async function request(world: CountedWorld, { id, project, signedTx }: Started): Promise<void> {
  const { status, body } = await execute(world.url, project.apiKey, id, signedTx, { prefer: 'wait=0' });
  if (status !== 202 && status !== 200) throw new Error(`Execute answered ${status}: ${JSON.stringify(body)}`);
}

async function runAlone(world: CountedWorld, project: TestProject, pipelines: number): Promise<Started> {
  const started = await start(world, project, pipelines);
  const begunMs = performance.now();
  await untilStatus(world, [started], 'FINALIZED');
  const setUpMs = performance.now();
  await request(world, started);
  const askedMs = performance.now();
  await untilStatus(world, [started], 'EXECUTED');
  const times = { setup: setUpMs - begunMs, execution: performance.now() - askedMs };
  return { ...started, times };
}

/** Runs batches through their life, phase by phase: requests while the workers stand still, then the work alone. */
async function runTogether(
  world: CountedWorld,
  meter: Meter,
  projects: readonly TestProject[],
  pipelines: number,
  batches: number,
): Promise<Started[]> {
  const owners = Array.from({ length: batches }, (_, i) => projects[i % projects.length]).filter((each) => !!each);
  const phase = (operation: Operation, work: () => Promise<unknown>) =>
    meter.phase(operation, pipelines, batches, work);
  let started: Started[] = [];
  world.pauseWork();
  await phase('init', async () => {
    started = await inParallel(owners, AT_A_TIME, (project) => start(world, project, pipelines));
  });
  world.resumeWork();
  await phase('setup', () => untilStatus(world, started, 'FINALIZED'));
  world.pauseWork();
  await phase('execute request', () => inParallel(started, AT_A_TIME, (each) => request(world, each)));
  world.resumeWork();
  await phase('execution', () => untilStatus(world, started, 'EXECUTED'));
  await phase('closing', () => untilClosed(world, started));
  return started;
}

async function measureReads(world: CountedWorld, meter: Meter, project: TestProject): Promise<void> {
  const { url } = world;
  const { apiKey, cookie, projectId } = project;
  world.pauseWork();
  const payloads = await makePipelines(PREVIEWS);
  const { id } = await start(world, project, 10);
  const read = async (operation: Operation, count: number, work: (i: number) => Promise<unknown>) => {
    const numbers = Array.from({ length: count }, (_, i) => i);
    // The statements are prepared when they come a third time on a connection.
    await inParallel(numbers.slice(0, READS / 3), AT_A_TIME, work);
    await meter.phase(operation, operation === 'preview' ? 10 : 0, count, () => inParallel(numbers, AT_A_TIME, work));
  };
  const list = `/console/api/projects/${projectId}/batches`;
  await read('get', READS, async () => requireOk(await getBatch(url, apiKey, id)));
  await read('current', READS, async () => requireOk(await getCurrent(url, apiKey)));
  await read('list', READS, async () => requireOk(await send(url, 'GET', '/v1/flywheel/batches', { key: apiKey })));
  await read('console list', READS, async () => requireOk(await send(url, 'GET', list, { headers: { cookie } })));
  await read('proof lookup', LOOKUPS, async (i) => {
    const { type, payload } = payloads[i % payloads.length] ?? { type: '', payload: '' };
    const body = { type, payload };
    requireOk(await send(url, 'POST', '/console/api/proof', { body }));
  });
  await read('preview', PREVIEWS, async () => {
    const body = { pipelines: await makePipelines(10) };
    requireOk(await send(url, 'POST', '/v1/flywheel/batch/preview', { key: apiKey, body }));
  });
  world.resumeWork();
  await untilStatus(world, [{ id }], 'FINALIZED');
}

async function measureWebhooks({ db }: CountedWorld, meter: Meter, { projectId }: TestProject): Promise<void> {
  await using receiver = await openReceiver();
  const project = { id: projectId };
  await storeEndpoint(db, project, receiver.url, ['batch.finalized']);
  await meter.phase('webhook', 0, WEBHOOKS, async () => {
    for (let i = 0; i < WEBHOOKS; i++) await queueEvent(db, project);
    await receiver.until(WEBHOOKS);
  });
}

type Meter = ReturnType<typeof createMeter>;

function createMeter(world: CountedWorld) {
  const costs: UnitCost[] = [];
  const methods: [string, string][] = [];
  let idle: { readonly seconds: number; readonly used: Readonly<Record<Counted, number>> } | null = null;
  const measureIdle = async () => {
    const before = await world.read();
    await sleep(IDLE_MS);
    const after = await world.read();
    const seconds = (after.atMs - before.atMs) / 1_000;
    idle = { seconds, used: difference(before, after) };
    costs.push(costOf('idle second', 0, perOne(idle.used, seconds)));
  };
  const phase = async (operation: Operation, pipelines: number, count: number, work: () => Promise<unknown>) => {
    const before = await world.read();
    await work();
    const after = await world.read();
    const seconds = (after.atMs - before.atMs) / 1_000;
    process.stderr.write(`  ${count} × ${operation} of ${pipelines}: ${seconds.toFixed(1)} s\n`);
    const used = difference(before, after);
    // The idle part of a phase in which the workers stand still is that of `serve`, which is next to nothing.
    const isIdleCounted = WORK.has(operation) && idle !== null;
    const own = isIdleCounted && idle !== null ? minus(used, perOne(idle.used, idle.seconds / seconds)) : used;
    costs.push(costOf(operation, pipelines, perOne(own, count)));
    const called = [...after.methods].flatMap(([method, calls]) => {
      const made = (calls - (before.methods.get(method) ?? 0)) / count;
      return made < LEAST_SHOWN ? [] : [`${method || 'tip floor'} ${made.toFixed(1)}`];
    });
    if (called.length > 0) methods.push([`${operation} of ${pipelines}`, called.join(', ')]);
  };
  return { measureIdle, phase, costs: () => costs, methods: () => methods };
}

/** Operations during which the workers run. */
const WORK: ReadonlySet<Operation> = new Set(['register', 'setup', 'execution', 'closing', 'webhook']);
/** Calls for an operation that are shown. */
const LEAST_SHOWN = 0.05;

const NOTHING = { bundles: 0, transactions: 0, computeUnits: 0, spentLamports: 0, lockedLamports: 0, aloneMs: 0 };

function costOf(operation: Operation, pipelines: number, amounts: Readonly<Record<Counted, number>>): UnitCost {
  return { operation, pipelines, ...amounts, ...NOTHING };
}

function difference(before: Reading, after: Reading): Record<Counted, number> {
  return minus(after.amounts, before.amounts);
}

function minus(from: Readonly<Record<Counted, number>>, less: Readonly<Record<Counted, number>>) {
  return mapAmounts(from, (value, amount) => Math.max(0, value - less[amount]));
}

function perOne(amounts: Readonly<Record<Counted, number>>, count: number) {
  return mapAmounts(amounts, (value) => value / count);
}

function mapAmounts(amounts: Readonly<Record<Counted, number>>, of: (value: number, amount: Counted) => number) {
  const entries = Object.entries(amounts).map(([amount, value]) => [amount, of(value, amount as Counted)]);
  return Object.fromEntries(entries) as Record<Counted, number>; // the same keys
}

async function untilStatus(
  { db }: Pick<CountedWorld, 'db'>,
  batches: readonly { readonly id: string }[],
  wanted: 'FINALIZED' | 'EXECUTED',
): Promise<void> {
  const ids = batches.map(({ id }) => id);
  for (;;) {
    const rows = await db.selectFrom('batches').select('status').where('id', 'in', ids).execute();
    if (rows.some(({ status }) => status === 'FAILED')) throw new Error('A batch has failed.');
    if (rows.every(({ status }) => status === wanted)) return;
    await sleep(batches.length === 1 ? POLL_MS : 10 * POLL_MS);
  }
}

async function untilClosed({ db }: CountedWorld, batches: readonly Started[]): Promise<void> {
  const ids = batches.map(({ id }) => id);
  const read = () =>
    db.selectFrom('batches').select('id').where('id', 'in', ids).where('closed_at', 'is', null).execute();
  await waitUntil('the closing', read, (open) => open.length === 0);
}
