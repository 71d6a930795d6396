import { setTimeout as sleep } from 'node:timers/promises';
import { execute, getBatch, getCurrent, init } from '@flywheel/testing/client';
import { requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { type Figures, markdownTable, percentile, significant } from '../figures.ts';
import { makePipelines } from '../init.ts';
import { readPart } from '../results.ts';
import { createProjects, untilNonces } from '../separate-world.ts';
import { type CountedWorld, openCountedWorld } from './counted-world.ts';
import type { Chain, Fleet } from './simulation/fleet.ts';
import { createRandom } from './simulation/random.ts';
import { MIX_FIGURES, type Mix, type MixFigures, runMix } from './simulation/run-mix.ts';
import { type Costs, readCosts, readTable } from './unit-costs.ts';

const UNLIMITED = Number.POSITIVE_INFINITY;
/** The local cluster: slots as long as on a cluster, and no limits of blocks. */
const LOCAL: Chain = { slotMs: 400, blockUnits: UNLIMITED, accountUnits: UNLIMITED, blockShare: 1 };
/** This machine: PostgreSQL, the cluster and the clients share its cores with the service. */
const HERE: Fleet = {
  ...{ serves: 1, works: 1, databaseCores: 2, walBytesPerSecond: UNLIMITED, standbys: null, rpcPerSecond: UNLIMITED },
  ...{ enginePerSecond: UNLIMITED, operators: 1, placesPerWork: 1_024, sharedCores: 2 },
  caps: { openBatches: UNLIMITED, openPipelines: UNLIMITED, lockedLamports: UNLIMITED, spentLamportsPerDay: UNLIMITED },
};
const SEED = 88;

/** Three fleets and mixes of which none was measured for the unit costs. */
const MIXES: Readonly<Record<string, Mix>> = {
  '1 serve, 1 work, batches of 5': {
    ...{ fleet: HERE, chain: LOCAL, projects: 16, pipelines: 5, readers: 0 },
    arrivals: drawArrivals(45, 1),
  },
  '2 serve, 1 work, batches of 50, 8 readers': {
    ...{ fleet: { ...HERE, serves: 2 }, chain: LOCAL, projects: 8, pipelines: 50, readers: 8 },
    arrivals: drawArrivals(10, 0.4),
  },
  '1 serve, 2 work, 40 batches of 3 at once, 4 engine requests/s': {
    ...{ fleet: { ...HERE, works: 2, enginePerSecond: 4 }, chain: LOCAL, projects: 40, pipelines: 3, readers: 0 },
    arrivals: Array<number>(40).fill(0),
  },
};

/** Draws moments with exponential pauses, so many a second on average. */
function drawArrivals(count: number, perSecond: number): number[] {
  const random = createRandom(SEED);
  const arrivals: number[] = [];
  for (let atMs = 0; arrivals.length < count; atMs += random.exponential(1_000 / perSecond)) arrivals.push(atMs);
  return arrivals;
}

const COLUMN = 'fleet and mix';

/** Predicts the three mixes from the unit costs. Record and commit it before they are measured. */
export async function predictFleets(): Promise<Figures> {
  const costs: Costs = await readCosts();
  const predicted = Object.entries(MIXES).map(([name, mix]) => ({ name, figures: runMix(mix, costs) }));
  return {
    title: 'three fleets and mixes, predicted by the simulation from the unit costs',
    note: 'Nothing of these fleets was measured before.',
    rows: predicted.map(({ name, figures }) => [name, `${figures['execute to executed p50, s'].toFixed(2)} s p50`]),
    details: markdownTable(
      [COLUMN, 'figure', 'predicted'],
      predicted.flatMap(({ name, figures }) =>
        MIX_FIGURES.map((figure) => [name, figure, significant(figures[figure])]),
      ),
    ),
  };
}

/** Measures the three mixes, and compares all figures with the recorded predictions. */
export async function benchFleets(): Promise<Figures> {
  const predictions = readTable(await readPart('predictions'), COLUMN);
  const rows: string[][] = [];
  for (const [name, mix] of Object.entries(MIXES)) {
    process.stderr.write(`  ${name}\n`);
    const measured = await measureMix(mix);
    for (const figure of MIX_FIGURES) {
      if (figure === 'reads a second' && mix.readers === 0) continue;
      const predicted = predictions.find(([of, one]) => of === name && one === figure)?.[2];
      if (predicted === undefined) throw new Error(`No prediction of ${figure} for ${name} is recorded.`);
      rows.push([name, figure, predicted, significant(measured[figure]), errorOf(Number(predicted), measured[figure])]);
    }
  }
  const errors = rows.map(([, , , , error]) => Math.abs(Number.parseFloat(error ?? ''))).filter(Number.isFinite);
  return {
    title: 'three fleets and mixes, measured, beside their predictions',
    note: 'An error of 25 % says that the prediction was a quarter too high. Two cores for everything; slots of 400 ms.',
    rows: [
      ['median error', `${percentile(errors, 0.5)} %`],
      ['largest error', `${Math.max(...errors)} %`],
    ],
    details: markdownTable([COLUMN, 'figure', 'predicted', 'measured', 'error'], rows),
  };
}

function errorOf(predicted: number, measured: number): string {
  if (measured === 0) return predicted === 0 ? '0 %' : 'measured 0';
  return `${(100 * (predicted / measured - 1)).toFixed(0)} %`;
}

async function measureMix(mix: Mix): Promise<MixFigures> {
  const { serves, works, enginePerSecond } = mix.fleet;
  const nonces = mix.arrivals.length + SPARE_NONCES;
  const engine: Record<string, string> = Number.isFinite(enginePerSecond)
    ? { BLOCK_ENGINE_REQUESTS_PER_SECOND: String(enginePerSecond / works) }
    : {};
  const world = await openCountedWorld(
    { NONCE_POOL_SIZE: String(nonces), NONCE_POOL_MAX: String(2 * nonces), ...engine },
    { serves, works, finalizedLagSlots: 31 },
  );
  try {
    const projects = await createProjects(world, mix.projects);
    await untilNonces(world, nonces);
    // A process that has just started compiles its code.
    await warmUp(world, projects);
    return await runReal(world, mix, projects);
  } finally {
    await world.stop();
  }
}

const SPARE_NONCES = 30;
const WARM_UP = 4;

async function warmUp(world: CountedWorld, projects: readonly TestProject[]): Promise<void> {
  const watcher = createWatcher(world);
  await Promise.all(
    Array.from({ length: WARM_UP }, (_, i) => runBatch(world, watcher, projects[i % projects.length], i, 2)),
  );
  await watcher.untilClosed();
  await watcher.stop();
}

async function runReal(world: CountedWorld, mix: Mix, projects: readonly TestProject[]): Promise<MixFigures> {
  const watcher = createWatcher(world);
  const before = await world.read();
  const startMs = performance.now();
  let isOver = false;
  let reads = 0;
  const readers = Array.from({ length: mix.readers }, async (_, reader) => {
    const [project, url] = [projects[reader % projects.length], urlOf(world, reader)];
    if (!project) throw new Error('A project is missing.');
    for (let i = 0; !isOver; i++) {
      const id = i % 2 === 0 ? watcher.lastOf(project) : undefined;
      requireOk(await (id === undefined ? getCurrent(url, project.apiKey) : getBatch(url, project.apiKey, id)));
      reads += 1;
    }
  });
  const durations = await Promise.all(
    mix.arrivals.map(async (atMs, i) => {
      await sleep(Math.max(0, startMs + atMs - performance.now()));
      return runBatch(world, watcher, projects[i % projects.length], i, mix.pipelines);
    }),
  );
  const lastMs = performance.now() - startMs;
  isOver = true;
  await Promise.all(readers);
  await watcher.untilClosed();
  await watcher.stop();
  const { amounts } = await world.read();
  const used = (amount: keyof typeof amounts) => amounts[amount] - before.amounts[amount];
  return {
    'serve CPU, s': used('serveCpuMs') / 1_000,
    'work CPU, s': used('workCpuMs') / 1_000,
    'PostgreSQL CPU, s': used('databaseCpuMs') / 1_000,
    'round trips': used('roundTrips'),
    'RPC calls': used('rpcCalls'),
    'engine requests': used('engineRequests'),
    'WAL, MB': used('walBytes') / 1e6,
    'last execution after, s': lastMs / 1_000,
    'execute to executed p50, s': percentile(durations, 0.5) / 1_000,
    'execute to executed p99, s': percentile(durations, 0.99) / 1_000,
    'reads a second': reads / (lastMs / 1_000),
  };
}

/** Runs one batch. @returns milliseconds from the answer to its execute request to its last execution. */
async function runBatch(
  world: CountedWorld,
  watcher: Watcher,
  project: TestProject | undefined,
  number: number,
  pipelines: number,
): Promise<number> {
  if (!project) throw new Error('A project is missing.');
  const url = urlOf(world, number);
  const { batch, proposalApproveTx } = requireOk(await init(url, project.apiKey, await makePipelines(pipelines)));
  watcher.note(project, batch.id);
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  await watcher.until(batch.id, 'FINALIZED');
  const { status, body } = await execute(url, project.apiKey, batch.id, signedTx, { prefer: 'wait=0' });
  if (status !== 202 && status !== 200) throw new Error(`Execute answered ${status}: ${JSON.stringify(body)}`);
  const askedMs = performance.now();
  await watcher.until(batch.id, 'EXECUTED');
  return performance.now() - askedMs;
}

function urlOf({ serves }: CountedWorld, number: number): string {
  const url = serves[number % serves.length]?.url;
  if (!url) throw new Error('A `serve` names no URL.');
  return url;
}

const POLL_MS = 50;

type Watcher = ReturnType<typeof createWatcher>;

/** Follows all batches with one query in 50 ms, so that watching costs about the same however many there are. */
function createWatcher({ db }: CountedWorld) {
  const latest = new Map<string, string>();
  const waiting = new Map<
    string,
    { readonly wanted: string; readonly resolve: () => void; readonly reject: (error: Error) => void }
  >();
  const noted: string[] = [];
  let isStopped = false;
  const poll = async () => {
    while (!isStopped) {
      if (waiting.size > 0) {
        const ids = [...waiting.keys()];
        const rows = await db.selectFrom('batches').select(['id', 'status']).where('id', 'in', ids).execute();
        for (const { id, status } of rows) {
          const one = waiting.get(id);
          if (status === 'FAILED') one?.reject(new Error(`Batch ${id} has failed.`));
          if (status !== one?.wanted) continue;
          waiting.delete(id);
          one.resolve();
        }
      }
      await sleep(POLL_MS);
    }
  };
  const polling = poll();
  return {
    note: (project: TestProject, id: string) => {
      noted.push(id);
      latest.set(project.projectId, id);
    },
    lastOf: ({ projectId }: TestProject) => latest.get(projectId),
    until: (id: string, wanted: 'FINALIZED' | 'EXECUTED') =>
      new Promise<void>((resolve, reject) => waiting.set(id, { wanted, resolve, reject })),
    untilClosed: async () => {
      for (;;) {
        const open = await db
          .selectFrom('batches')
          .select('id')
          .where('id', 'in', noted)
          .where('closed_at', 'is', null)
          .execute();
        if (open.length === 0) return;
        await sleep(10 * POLL_MS);
      }
    },
    stop: () => {
      isStopped = true;
      return polling;
    },
  };
}
