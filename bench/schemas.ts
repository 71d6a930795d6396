import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { init } from '@flywheel/testing/client';
import { createProject, requireOk, signIn } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { openBenchWorld } from './bench-world.ts';
import { type Figures, ms, percentile, timeMs } from './figures.ts';
import { makePipelines } from './init.ts';

const SAMPLES = 50;
const WARM_UP = 10;
const IDLE_SECONDS = 5;
const FLOOD_SECONDS = 15;
/** Each may end three threads a minute. */
const HOSTILE_WALLETS = 40;

const PAYLOAD_SCHEMA = {
  type: 'object',
  required: ['orderId'],
  properties: { orderId: { type: 'string', pattern: '^[0-9a-f-]{36}$' }, note: { type: 'string', maxLength: 200 } },
  additionalProperties: false,
};

/**
 * Measures init with and without JSON Schemas, and the answers of others while wallets flood the service with schemas
 * that do not end and with bodies that are large. The rate limits are off, so that the flood is limited by nothing else.
 */
export async function benchSchemas(): Promise<Figures> {
  const world = await openBenchWorld();
  try {
    return await measure(world);
  } finally {
    await world.stop();
  }
}

async function measure(world: World): Promise<Figures> {
  const [free, bound] = [
    await createProject(world),
    await createProject(world, { proofTypes: [{ type: 'PRODUCT_PURCHASE', payloadSchema: PAYLOAD_SCHEMA }] }),
  ];
  const cookies: string[] = [];
  for (let i = 0; i < HOSTILE_WALLETS; i++) cookies.push(await signIn(world.url, await generateKeyPairSigner()));
  // Before the inits, whose setups keep the cluster in this process busy.
  const idle = await probe(world.url, IDLE_SECONDS);
  const flood = startProgram('flood', [world.url, String(FLOOD_SECONDS), ...cookies]);
  const live = await probe(world.url, FLOOD_SECONDS);
  const statuses = await flood;
  const [without, withSchema]: [number[], number[]] = [[], []];
  // In turn, so that a slow moment of the machine affects both.
  for (let i = 0; i < SAMPLES + WARM_UP; i++) {
    without.push(await timeInit(world, free.apiKey));
    withSchema.push(await timeInit(world, bound.apiKey));
  }
  const [p50Without, p50With] = [without, withSchema].map((sample) => percentile(sample.slice(WARM_UP), 0.5));
  if (p50Without === undefined || p50With === undefined) throw new Error('Two samples were taken.');
  return {
    title: `JSON Schemas: init of 10 pipelines, ${SAMPLES} requests; a flood of ${HOSTILE_WALLETS} wallets for ${FLOOD_SECONDS} s`,
    note: `The flood was answered ${Object.entries(statuses as object)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', ')}. Cluster, service and flood share this machine.`,
    rows: [
      ['init without a schema, p50', ms(p50Without)],
      ['init with a schema, p50', ms(p50With)],
      ['/health/live, idle, p99', ms(percentile(idle, 0.99))],
      ['/health/live, flooded, p50', ms(percentile(live, 0.5))],
      ['/health/live, flooded, p99', ms(percentile(live, 0.99))],
    ],
  };
}

function timeInit(world: World, apiKey: string): Promise<number> {
  return makePipelines().then((pipelines) => timeMs(async () => requireOk(await init(world.url, apiKey, pipelines))));
}

/** Milliseconds of each answer of `/health/live`, asked by a process of its own. */
export async function probe(url: string, seconds: number): Promise<number[]> {
  return (await startProgram('probe', [url, String(seconds)])) as number[]; // what the program sends
}

/** Runs `schema-flood.ts`; returns the one message that it sends. */
async function startProgram(mode: 'flood' | 'probe', parameters: readonly string[]): Promise<unknown> {
  const child: ChildProcess = fork(new URL('./schema-flood.ts', import.meta.url), [mode, ...parameters]);
  const [[message]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
  return message;
}
