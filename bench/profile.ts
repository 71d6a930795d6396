import { mkdir, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { executeSigned, setUpBatch } from '@flywheel/testing/batches';
import { getBatch, init } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { openBenchWorld } from './bench-world.ts';
import { describeTop, flameGraphPage } from './flame-graph.ts';
import { makePipelines } from './init.ts';

/** Ignored by git. */
const DIRECTORY = fileURLToPath(new URL('../profiles/', import.meta.url));
const SAMPLING_INTERVAL_US = 250;
const INITS = 60;
const GETS = 1_000;
const TRANSFERS = 1_000;
const PIPELINES = 100;
const SHOWN = 12;

// One process runs service, worker, cluster and client: a stack tells which of them a function worked for.
await profileAll();

/** Writes a CPU profile, for Chrome's developer tools, and a flame graph of each part. */
async function profileAll(): Promise<void> {
  await mkdir(DIRECTORY, { recursive: true });
  const world = await openBenchWorld();
  try {
    const project = await createProject(world);
    await initMany(world, project, 10); // compiles what runs often
    const idle = await createProject(world);
    const pipelines = await makePipelines(PIPELINES);

    const batch = await record('setup', () => setUpBatch(world, idle, pipelines));
    await record('execution', async () => requireOk(await executeSigned(world, idle, batch, { prefer: 'wait=120' })));
    await record('get', async () => {
      for (let i = 0; i < GETS; i++) requireOk(await getBatch(world.url, idle.apiKey, batch.id));
    });
    const { address } = await generateKeyPairSigner();
    await record('local-cluster', () => fund(world, address));
    await record('init', () => initMany(world, project, INITS));
  } finally {
    await world.stop();
  }
}

/** Runs a part of the work and profiles the main thread meanwhile. */
async function record<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US });
  await session.post('Profiler.start');
  const result = await work();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  await writeFile(join(DIRECTORY, `${name}.cpuprofile`), JSON.stringify(profile));
  const page = join(DIRECTORY, `${name}.html`);
  await writeFile(page, flameGraphPage(name, profile));
  process.stdout.write(`\n${name}: ${page}\n${describeTop(profile, SHOWN).join('\n')}\n`);
  return result;
}

async function initMany(world: World, { apiKey }: TestProject, count: number): Promise<void> {
  for (let i = 0; i < count; i++) requireOk(await init(world.url, apiKey, await makePipelines()));
}

/** The bank of the cluster sends each transfer as a transaction through JSON-RPC, and waits until it is confirmed. */
async function fund({ localnet }: World, to: Address): Promise<void> {
  const AT_ONCE = 100;
  for (let done = 0; done < TRANSFERS; done += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => localnet.bank.airdrop(to, BigInt(1_000_000 + index))),
    );
  }
}
