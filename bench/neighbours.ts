import { setTimeout as sleep } from 'node:timers/promises';
import { executeSigned, type OpenBatch, openBatch, readBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import type { TestProject } from '@flywheel/testing/project';
import { type Figures, ms, percentile, timeMs } from './figures.ts';
import { createProjects, inParallel, openSeparateWorld, type SeparateWorld, untilNonces } from './separate-world.ts';

const FEW_TENANTS = 32;
const MANY_TENANTS = 512;
/** Signature statuses are answered this much later. */
const STATUS_DELAY_MS = 1_500;
const ENGINE_REQUESTS_PER_SECOND = 5;
/** Batches that one half of the few tenants sets up, and the other half executes and closes. */
const FEW_BACKLOG = { setups: 10, executions: 4 } as const;
/** The same of the many tenants: their first bundles alone take 100 s, longer than the measurement. */
const MANY_BACKLOG = { setups: 2, executions: 1 } as const;
const SAMPLES = 7;
/** Nonces for the other tenants, and what a pool that is nearly empty may leave. */
const SPARE_NONCES = 40;

/**
 * Measures how long another tenant's batch of one pipeline takes to be set up, and then to be executed, beside tenants with a
 * backlog of both, while the cluster answers late and the block engine accepts five requests a second. It ends when there are
 * enough samples: the backlog of the many takes minutes more.
 */
export async function benchNeighbours(): Promise<Figures> {
  const few = FEW_TENANTS * (FEW_BACKLOG.setups + FEW_BACKLOG.executions);
  const many = (MANY_TENANTS - FEW_TENANTS) * (MANY_BACKLOG.setups + MANY_BACKLOG.executions);
  const backlog = (few + many) / 2;
  const world = await openSeparateWorld({
    BLOCK_ENGINE_REQUESTS_PER_SECOND: String(ENGINE_REQUESTS_PER_SECOND),
    NONCE_POOL_SIZE: String(backlog + SPARE_NONCES),
    NONCE_POOL_MAX: String(2 * backlog),
  });
  try {
    return {
      title: `setup and execution of one pipeline beside busy tenants, ${SAMPLES} tenants one after another`,
      note: `Half of the tenants set up, half execute. Statuses ${STATUS_DELAY_MS} ms late, ${ENGINE_REQUESTS_PER_SECOND} requests/s to the engine: the backlog of ${backlog} batches takes ${backlog / ENGINE_REQUESTS_PER_SECOND} s at least. Serve, work and cluster with clients are processes of one machine.`,
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
  const few = await prepare(world, busy.slice(0, FEW_TENANTS), FEW_BACKLOG.executions);
  const many = await prepare(world, busy.slice(FEW_TENANTS), MANY_BACKLOG.executions);
  world.localnet.faults.set({ kind: 'delay', method: 'getSignatureStatuses', delayMs: STATUS_DELAY_MS });
  const idle = await timeBatches(world, others.splice(0, SAMPLES));
  await fillBacklogs(world, few, FEW_BACKLOG.setups);
  const besideFew = await timeBatches(world, others.splice(0, SAMPLES));
  await fillBacklogs(world, many, MANY_BACKLOG.setups);
  const besideMany = await timeBatches(world, others.splice(0, SAMPLES));
  const rowsOf = (phase: keyof BatchTimes): [string, string][] => {
    const idleMs = percentile(idle[phase], 0.5);
    const row = (name: string, { [phase]: sample }: BatchTimes): [string, string] => {
      const [p50, max] = [percentile(sample, 0.5), Math.max(...sample)];
      const ratios = `${(p50 / idleMs).toFixed(2)} and ${(max / idleMs).toFixed(2)} times`;
      return [`${phase} ${name}`, `p50 ${ms(p50)}, max ${ms(max)}: ${ratios} the idle p50`];
    };
    return [
      [`${phase} idle`, `p50 ${ms(idleMs)}, max ${ms(Math.max(...idle[phase]))}`],
      row(`beside ${FEW_TENANTS} busy tenants`, besideFew),
      row(`beside ${MANY_TENANTS} busy tenants`, besideMany),
    ];
  };
  return [...rowsOf('setup'), ...rowsOf('execution')];
}

/** Tenants before they are busy. */
interface Prepared {
  readonly settingUp: readonly TestProject[];
  readonly executing: readonly { readonly tenant: TestProject; readonly batches: readonly OpenBatch[] }[];
}

/** Sets up what one half of the tenants is to execute. */
async function prepare(world: SeparateWorld, tenants: readonly TestProject[], each: number): Promise<Prepared> {
  const half = tenants.length / 2;
  const executing = await inParallel(tenants.slice(half), 16, async (tenant) => {
    const batches: OpenBatch[] = [];
    for (let i = 0; i < each; i++) batches.push(await openBatch(world, tenant, [burnPipeline()]));
    return { tenant, batches };
  });
  for (const { tenant, batches } of executing) {
    for (const { id } of batches) await untilStatus(world, tenant, id, 'FINALIZED');
  }
  return { settingUp: tenants.slice(0, half), executing };
}

/** Gives one half of the tenants batches to set up, and asks for the executions of the other half. */
async function fillBacklogs(world: SeparateWorld, { settingUp, executing }: Prepared, each: number): Promise<void> {
  await Promise.all([
    inParallel(settingUp, 8, async (tenant) => {
      for (let i = 0; i < each; i++) await openBatch(world, tenant, [burnPipeline()]);
    }),
    inParallel(executing, 8, async ({ tenant, batches }) => {
      for (const batch of batches) await requestExecution(world, tenant, batch);
    }),
  ]);
}

interface BatchTimes {
  readonly setup: number[];
  readonly execution: number[];
}

async function timeBatches(world: SeparateWorld, tenants: readonly TestProject[]): Promise<BatchTimes> {
  const times: BatchTimes = { setup: [], execution: [] };
  for (const tenant of tenants) {
    const opened = Promise.withResolvers<OpenBatch>();
    const setUp = async () => {
      const batch = await openBatch(world, tenant, [burnPipeline()]);
      opened.resolve(batch);
      await untilStatus(world, tenant, batch.id, 'FINALIZED');
    };
    const execute = async () => {
      const batch = await opened.promise;
      await requestExecution(world, tenant, batch);
      await untilStatus(world, tenant, batch.id, 'EXECUTED');
    };
    times.setup.push(await timeMs(setUp));
    times.execution.push(await timeMs(execute));
  }
  return times;
}

async function requestExecution(world: SeparateWorld, tenant: TestProject, batch: OpenBatch): Promise<void> {
  const { status, body } = await executeSigned(world, tenant, batch, { prefer: 'wait=0' });
  if (status !== 202 && status !== 200) throw new Error(`Execute answered ${status}: ${JSON.stringify(body)}`);
}

async function untilStatus(world: SeparateWorld, tenant: TestProject, id: string, wanted: string): Promise<void> {
  for (;;) {
    const { status } = await readBatch(world, tenant, id);
    if (status === wanted) return;
    if (status === 'FAILED') throw new Error(`Batch ${id} is FAILED instead of ${wanted}.`);
    await sleep(25);
  }
}
