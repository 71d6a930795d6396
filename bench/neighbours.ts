import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from '@flywheel/testing/project';
import { type Figures, ms, percentile, timeMs } from './figures.ts';
import {
  createProjects,
  inParallel,
  openOne,
  openSeparateWorld,
  type SeparateWorld,
  untilNonces,
} from './separate-world.ts';

const FEW_TENANTS = 32;
const MANY_TENANTS = 512;
/** Signature statuses are answered this much later. */
const STATUS_DELAY_MS = 1_500;
const ENGINE_REQUESTS_PER_SECOND = 5;
/** Batches of each of the few tenants, which keep them busy for a minute. */
const FEW_BACKLOG = 10;
/** Batches of each of the many tenants: their first ones alone take 100 s, longer than the measurement. */
const MANY_BACKLOG = 2;
const SAMPLES = 7;
/** Nonces for the other tenants, and what a pool that is nearly empty may leave. */
const SPARE_NONCES = 40;

/**
 * Measures how long another tenant's batch of one pipeline takes to be set up beside tenants with a backlog, while the
 * cluster answers late and the block engine accepts five requests a second. It ends when there are enough samples: the
 * backlog of the many takes minutes more.
 */
export async function benchNeighbours(): Promise<Figures> {
  const backlog = FEW_TENANTS * FEW_BACKLOG + (MANY_TENANTS - FEW_TENANTS) * MANY_BACKLOG;
  const world = await openSeparateWorld({
    BLOCK_ENGINE_REQUESTS_PER_SECOND: String(ENGINE_REQUESTS_PER_SECOND),
    NONCE_POOL_SIZE: String(backlog + SPARE_NONCES),
    NONCE_POOL_MAX: String(2 * backlog),
  });
  try {
    return {
      title: `setup of one pipeline beside busy tenants, ${SAMPLES} tenants one after another`,
      note: `Statuses ${STATUS_DELAY_MS} ms late, ${ENGINE_REQUESTS_PER_SECOND} requests/s to the engine: the backlog of ${backlog} batches takes ${backlog / ENGINE_REQUESTS_PER_SECOND} s at least. Serve, work and cluster with clients are processes of one machine.`,
      rows: await measure(world, backlog),
    };
  } finally {
    await world.stop();
  }
}

async function measure(world: SeparateWorld, backlog: number): Promise<[string, string][]> {
  const busy = await createProjects(world, MANY_TENANTS);
  const others = await createProjects(world, 3 * SAMPLES);
  await untilNonces(world, backlog + SPARE_NONCES);
  world.localnet.faults.set({ kind: 'delay', method: 'getSignatureStatuses', delayMs: STATUS_DELAY_MS });
  const idle = await timeSetups(world, others.splice(0, SAMPLES));
  await fillBacklogs(world, busy.slice(0, FEW_TENANTS), FEW_BACKLOG);
  const besideFew = await timeSetups(world, others.splice(0, SAMPLES));
  await fillBacklogs(world, busy.slice(FEW_TENANTS), MANY_BACKLOG);
  const besideMany = await timeSetups(world, others.splice(0, SAMPLES));
  const idleMs = percentile(idle, 0.5);
  const row = (name: string, sample: readonly number[]): [string, string] => {
    const [p50, max] = [percentile(sample, 0.5), Math.max(...sample)];
    const ratios = `${(p50 / idleMs).toFixed(2)} and ${(max / idleMs).toFixed(2)} times`;
    return [name, `p50 ${ms(p50)}, max ${ms(max)}: ${ratios} the idle p50`];
  };
  return [
    ['idle', `p50 ${ms(idleMs)}, max ${ms(Math.max(...idle))}`],
    row(`beside ${FEW_TENANTS} busy tenants`, besideFew),
    row(`beside ${MANY_TENANTS} busy tenants`, besideMany),
  ];
}

/** Gives every tenant the same number of batches to set up. */
async function fillBacklogs(world: SeparateWorld, tenants: readonly TestProject[], each: number): Promise<void> {
  await inParallel(tenants, 16, async (tenant) => {
    for (let i = 0; i < each; i++) await openOne(world, tenant);
  });
}

async function timeSetups(world: SeparateWorld, tenants: readonly TestProject[]): Promise<number[]> {
  const sample: number[] = [];
  for (const tenant of tenants) {
    const setUp = async () => {
      const isSetUp = await openOne(world, tenant);
      while (!(await isSetUp())) await sleep(25);
    };
    sample.push(await timeMs(setUp));
  }
  return sample;
}
