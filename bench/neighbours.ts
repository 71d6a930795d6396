import { setTimeout as sleep } from 'node:timers/promises';
import { burnPipeline, getBatch, init } from '@flywheel/testing/client';
import { openGate } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { openBenchWorld } from './bench-world.ts';
import { type Figures, ms, percentile, timeMs } from './figures.ts';

const BUSY_TENANTS = 32;
/** The cluster answers for a transaction this much later than it landed. */
const STATUS_DELAY_MS = 1_500;
const ENGINE_REQUESTS_PER_SECOND = 5;
/** Setups that the engine's limit allows in two minutes: the busy tenants stay busy for the whole measurement. */
const BACKLOG = ENGINE_REQUESTS_PER_SECOND * 120;
const SAMPLES = 5;
/** The busy tenants' first batches are in flight by then. */
const WARM_UP_MS = 5_000;

/**
 * Measures how long another tenant's batch of one pipeline takes to be set up beside tenants with a backlog, while the
 * cluster confirms late and the block engine accepts five requests a second.
 */
export async function benchNeighbours(): Promise<Figures> {
  return {
    title: `setup of one pipeline beside busy tenants, ${SAMPLES} tenants one after another`,
    note: `Statuses ${STATUS_DELAY_MS} ms late, ${ENGINE_REQUESTS_PER_SECOND} requests/s to the engine; service, cluster and clients share one process.`,
    rows: await measure(BUSY_TENANTS),
  };
}

async function measure(count: number): Promise<[string, string][]> {
  const limits = {
    BLOCK_ENGINE_REQUESTS_PER_SECOND: String(ENGINE_REQUESTS_PER_SECOND),
    NONCE_POOL_SIZE: String(2 * BACKLOG),
  };
  const world = await openBenchWorld(limits);
  const gate = await openGate(world.localnet);
  try {
    const others = await createProjects(world, 2 * SAMPLES);
    const busy = await createProjects(world, count);
    await untilPoolIsFull(world, 2 * BACKLOG);
    await world.restart(gate.environment);
    gate.intercept('getSignatureStatuses', async (_call, pass) => {
      const answer = await pass();
      await sleep(STATUS_DELAY_MS);
      return answer;
    });
    const idle = await timeSetups(world, others.slice(0, SAMPLES));
    await fillBacklogs(world, busy);
    await sleep(WARM_UP_MS);
    const beside = await timeSetups(world, others.slice(SAMPLES));
    const [idleMs, besideMs] = [idle, beside].map((sample) => percentile(sample, 0.5));
    if (idleMs === undefined || besideMs === undefined) throw new Error('Two samples were taken.');
    const memory = `${(process.memoryUsage.rss() / 2 ** 20).toFixed(0)} MiB`;
    return [
      [`before ${count} busy tenants`, `p50 ${ms(idleMs)}, max ${ms(Math.max(...idle))}`],
      [
        `beside ${count} busy tenants`,
        `p50 ${ms(besideMs)}, max ${ms(Math.max(...beside))}: ${(besideMs / idleMs).toFixed(2)} times; ${memory}`,
      ],
    ];
  } finally {
    gate.clear();
    await world.stop();
    await gate.stop();
  }
}

async function createProjects(world: World, count: number): Promise<TestProject[]> {
  const projects: TestProject[] = [];
  while (projects.length < count) {
    const some = Math.min(8, count - projects.length);
    projects.push(...(await Promise.all(Array.from({ length: some }, () => createProject(world)))));
  }
  return projects;
}

/** Waits for the nonces of all batches, whose creation is not measured here. */
async function untilPoolIsFull({ db }: World, size: number): Promise<void> {
  while ((await db.selectFrom('nonces').select('address').where('state', '=', 'available').execute()).length < size) {
    await sleep(500);
  }
}

/** Gives every tenant the same number of batches to set up, at least two. */
async function fillBacklogs(world: World, tenants: readonly TestProject[]): Promise<void> {
  const each = tenants.length === 0 ? 0 : Math.max(2, Math.ceil(BACKLOG / tenants.length));
  for (let i = 0; i < each; i++) {
    for (let from = 0; from < tenants.length; from += 8) {
      const some = tenants.slice(from, from + 8);
      await Promise.all(some.map(async ({ apiKey }) => requireOk(await init(world.url, apiKey, [burnPipeline()]))));
    }
  }
}

async function timeSetups(world: World, projects: readonly TestProject[]): Promise<number[]> {
  const sample: number[] = [];
  for (const project of projects) sample.push(await timeMs(() => setUp(world, project)));
  return sample;
}

async function setUp(world: World, { apiKey }: TestProject): Promise<void> {
  const { batch } = requireOk(await init(world.url, apiKey, [burnPipeline()]));
  while (requireOk(await getBatch(world.url, apiKey, batch.id)).status !== 'FINALIZED') await sleep(20);
}
