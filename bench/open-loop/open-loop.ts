import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { executeSigned, openBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { generateKeyPairSigner } from '@solana/kit';
import { type Figures, markdownTable, ms, percentile } from '../figures.ts';
import { createProjects, inParallel, openSeparateWorld, type SeparateWorld, untilNonces } from '../separate-world.ts';
import { Measured, type Run, type Setting } from './load.ts';
import { growthPerMinute, type MemoryMeter, type MemorySample, openMemoryMeter } from './memory.ts';
import { MIX, OPERATION_NAMES, type OperationName, type Tenant } from './operations.ts';

const CLIENTS = 500;
const PROJECTS = 20;
const PIPELINES = 10;
const RECIPIENTS = 200;
const SEED = 16;
/** Enough for the setups of several minutes; the worker adds more while nonces of cancelled batches are on their way. */
const NONCES = 300;
const MAX_NONCES = 3_000;
const WARM_UP = { kind: 'closed', clients: 32, seconds: 10 } as const;
const IDLE = { kind: 'closed', clients: 1, seconds: 15 } as const;
const IDLE_EACH = { kind: 'each', times: 30 } as const;
/** Long enough for the setups and the garbage of a load to take their share. */
const PEAK = { kind: 'closed', clients: 64, seconds: 90 } as const;
/** Shares of the peak, and the aim for p99 as a multiple of the idle p50. */
const LOADS = [
  { share: 0.5, aim: 5 },
  { share: 0.8, aim: 10 },
] as const;
const DEFAULT_SECONDS = 600;
/**
 * Shares of a run after which memory is measured; it is measured again at the end. Requests wait for a collection, and those
 * that came meanwhile for each other: few of them are less than p99 shows.
 */
const MEMORY_AT = [0.3, 0.53, 0.77];
/** Niceness of a `work` that shares its machine with `serve` (docs/how-to/run-in-production.md). */
const WORK_NICENESS = 10;

/**
 * Measures mixed operations by many clients that do not wait for each other: requests are due at random times at a share of
 * the highest rate of the same mix, and their latency counts from then. Reads the memory of `serve` and `work` meanwhile.
 * @param seconds is the duration of each of the two loads.
 */
export async function benchOpenLoop({
  seconds = DEFAULT_SECONDS,
}: {
  readonly seconds?: number;
} = {}): Promise<Figures> {
  const meter = await openMemoryMeter();
  const world = await openSeparateWorld(
    { NONCE_POOL_SIZE: String(NONCES), NONCE_POOL_MAX: String(MAX_NONCES) },
    { variablesOf: async () => ({ serve: meter.variables, work: meter.variables }) },
  );
  for (const { pid } of world.works) if (pid !== undefined) setPriority(pid, WORK_NICENESS);
  try {
    return await measure(world, meter, seconds);
  } finally {
    await world.stop();
    await meter.close();
  }
}

async function measure(world: SeparateWorld, meter: MemoryMeter, seconds: number): Promise<Figures> {
  const clients = await startClients(world);
  try {
    await clients.carryOut(WARM_UP);
    await untilDone(world);
    const idleMix = await clients.carryOut(IDLE);
    const idleEach = await clients.carryOut(IDLE_EACH);
    const start = performance.now();
    const peak = await clients.carryOut(PEAK);
    // The work that requests leave to the worker belongs to them: a rate at which it piles up is none that lasts.
    await untilDone(world);
    const peakSeconds = (performance.now() - start) / 1_000;
    for (const before of [idleMix, idleEach, peak]) {
      if (before.errors + before.limited > 0) throw new Error(`Before the loads: ${describeErrors(before)}.`);
    }
    const peakPerSecond = answered(peak) / peakSeconds;
    const idle: Idle = {
      all: percentile(allOf(idleMix), 0.5),
      allP99: percentile(allOf(idleMix), 0.99),
      of: (name) => percentile(idleEach.took[name] ?? [], 0.5),
    };
    const loads: Loaded[] = [];
    for (const { share, aim } of LOADS) {
      await untilDone(world);
      const perSecond = share * peakPerSecond;
      const memory = sampleMemory(world, meter, seconds);
      const measured = await clients.carryOut({ kind: 'open', clients: CLIENTS, seconds, perSecond });
      loads.push({ name: `${100 * share} %`, aim, perSecond, measured, memory: await memory.atEnd() });
      process.stderr.write(`  at ${100 * share} % of the peak: ${describeErrors(measured)}\n`);
    }
    return figuresOf({ idle, peakPerSecond, loads, seconds });
  } finally {
    clients.stop();
  }
}

interface Idle {
  readonly all: number;
  readonly allP99: number;
  readonly of: (name: OperationName) => number;
}

interface Loaded {
  readonly name: string;
  readonly aim: number;
  readonly perSecond: number;
  readonly measured: Measured;
  readonly memory: Readonly<Record<'serve' | 'work', readonly MemorySample[]>>;
}

interface Results {
  readonly idle: Idle;
  readonly peakPerSecond: number;
  readonly loads: readonly Loaded[];
  readonly seconds: number;
}

function figuresOf({ idle, peakPerSecond, loads, seconds }: Results): Figures {
  return {
    title: `mixed operations by ${CLIENTS} clients at 50 % and 80 % of the peak, ${seconds} s each`,
    note: `Requests are due at random times; latency counts from then. One in fifty is a preview, an init or a cancel, which take many times the p50 when idle too. Growth is that of the last 70 % of each run, after forced collections that return free pages. Work runs with nice ${WORK_NICENESS}. Serve, work, PostgreSQL, cluster and clients share the machine.`,
    rows: [
      ['idle, p50', ms(idle.all)],
      ['idle, p99, and p99 : p50', `${ms(idle.allP99)}, ${(idle.allP99 / idle.all).toFixed(1)}`],
      [
        `peak, ${PEAK.clients} clients without a pause, with what is left to the worker`,
        `${peakPerSecond.toFixed(0)}/s`,
      ],
      ...loads.flatMap((load): [string, string][] => {
        const { name, aim, perSecond, measured, memory } = load;
        const [p50, p99] = [0.5, 0.99].map((share) => percentile(allOf(measured), share));
        const multiple = ((p99 ?? Number.NaN) / idle.all).toFixed(1);
        return [
          [`${name}: requests due`, `${perSecond.toFixed(0)}/s`],
          [`${name}: p50 and p99`, `${ms(p50 ?? Number.NaN)}, ${ms(p99 ?? Number.NaN)}`],
          [`${name}: p99 : idle p50, aim ${aim}`, multiple],
          [`${name}: answers`, describeErrors(measured)],
          ...(['serve', 'work'] as const).map((command): [string, string] => [
            `${name}: memory of ${command}`,
            describeMemory(memory[command]),
          ]),
        ];
      }),
    ],
    details: markdownTable(
      [
        'operation',
        'of 1,000',
        'idle p50',
        ...loads.flatMap(({ name }) => [`${name} p50`, `${name} p99`, 'p99 : idle']),
      ],
      OPERATION_NAMES.map((operation) => [
        operation,
        String(MIX[operation]),
        ms(idle.of(operation)),
        ...loads.flatMap(({ measured }) => {
          const sample = measured.took[operation] ?? [];
          if (sample.length === 0) return ['–', '–', '–'];
          const [p50, p99] = [percentile(sample, 0.5), percentile(sample, 0.99)];
          return [ms(p50), ms(p99), (p99 / idle.of(operation)).toFixed(1)];
        }),
      ]),
    ),
  };
}

function allOf({ took }: Measured): number[] {
  return OPERATION_NAMES.flatMap((name) => took[name] ?? []);
}

function answered(measured: Measured): number {
  return allOf(measured).length;
}

function describeErrors(measured: Measured): string {
  const { limited, errors, firstError } = measured;
  const first = firstError === null ? '' : ` (the first: ${firstError.slice(0, 200)})`;
  return `${answered(measured) - errors} successes, ${limited} × 429, ${errors} errors${first}`;
}

function describeMemory(samples: readonly MemorySample[]): string {
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  const [last] = samples.slice(-1);
  if (last === undefined) throw new Error('The memory was not measured.');
  const growth = (of: (sample: MemorySample) => number) => mib(growthPerMinute(samples, of));
  const [rss, heap] = [growth(({ rssBytes }) => rssBytes), growth(({ heapBytes }) => heapBytes)];
  return `${mib(last.rssBytes)} MiB resident, ${rss} MiB more a minute; heap ${mib(last.heapBytes)} MiB, ${heap} more`;
}

/** Measures the memory of both processes during a run of so many seconds, and at its end. */
function sampleMemory({ serves, works }: SeparateWorld, meter: MemoryMeter, seconds: number) {
  const start = performance.now();
  const measure = async (processes: SeparateWorld['works']): Promise<MemorySample> => {
    const pid = processes[0]?.pid;
    if (pid === undefined) throw new Error('The process whose memory is measured has ended.');
    return meter.measure(pid);
  };
  const follow = async (processes: SeparateWorld['works']) => {
    const samples: MemorySample[] = [];
    for (const share of MEMORY_AT) {
      await sleep(start + 1_000 * share * seconds - performance.now(), undefined, { ref: false });
      samples.push(await measure(processes));
    }
    return samples;
  };
  const following = Promise.all([follow(serves), follow(works)]);
  return {
    atEnd: async () => {
      const [serve, work] = await following;
      return { serve: [...serve, await measure(serves)], work: [...work, await measure(works)] };
    },
  };
}

async function startClients(world: SeparateWorld) {
  const tenants = await createTenants(world);
  const recipients = await Promise.all(Array.from({ length: RECIPIENTS }, generateKeyPairSigner));
  const child: ChildProcess = fork(fileURLToPath(new URL('clients.ts', import.meta.url)));
  const setting: Setting = {
    port: Number(new URL(world.url).port),
    tenants,
    recipients: recipients.map(({ address }) => address),
    seed: SEED,
  };
  child.send(setting);
  return {
    carryOut: async (run: Run): Promise<Measured> => {
      const message = once(child, 'message');
      child.send(run);
      const [measured] = await message;
      return Measured.parse(measured);
    },
    stop: () => child.kill(),
  };
}

/** Creates projects, each with a batch whose events have ended. */
async function createTenants(world: SeparateWorld): Promise<Tenant[]> {
  const projects = await createProjects(world, PROJECTS);
  await untilNonces(world, NONCES);
  const tenants = await inParallel(projects, 8, async (project) => {
    const pipelines = Array.from({ length: PIPELINES }, () => burnPipeline());
    const [first] = pipelines;
    if (!first) throw new Error('A batch has pipelines.');
    const { id: batchId, signedTx } = await openBatch(world, project, pipelines);
    requireOk(await executeSigned(world, project, { id: batchId, signedTx }, { prefer: 'wait=120' }));
    return { apiKey: project.apiKey, batchId, proof: { type: first.type, payload: first.payload } };
  });
  await waitUntil(
    'the end of all batches',
    () => world.db.selectFrom('batches').select('id').where('closed_at', 'is', null).execute(),
    (open) => open.length === 0,
  );
  return tenants;
}

/** Waits until the worker has done what earlier requests have asked for: to set up batches, and to close those that were cancelled. */
async function untilDone({ db }: SeparateWorld): Promise<void> {
  await waitUntil(
    'the setups and closings',
    () =>
      db
        .selectFrom('batches')
        .select('id')
        .where('closed_at', 'is', null)
        .where('status', 'in', ['AVAILABLE_TO_QUEUE', 'FAILED'])
        .execute(),
    (left) => left.length === 0,
    { timeoutMs: DONE_TIMEOUT_MS },
  );
}

const DONE_TIMEOUT_MS = 600_000;
