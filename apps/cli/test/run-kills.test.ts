import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { burn, createFlywheelClient, type FlywheelClient, pipeline } from '@flywheel/sdk';
import { waitUntil } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
/** A transaction holds the compute units of three such pipelines. */
const BURNS_PER_PIPELINE = 20;
/** More than a bundle holds: four transactions beside the approval, twelve pipelines. */
const PIPELINES = 16;
/** Past the life of any blockhash (Agave, MAX_PROCESSING_AGE). */
const EXPIRY_SLOTS = 151n;
const BASE_UNITS_PER_TOKEN = 1_000_000n;

describe('a command that is killed at every step', () => {
  let world: GatedWorld;
  let project: TestProject;
  let client: FlywheelClient;
  let folder: TemporaryFolder;
  let door: Door;
  let words: readonly string[];
  let supply: bigint;
  let started = 0;

  before(async () => {
    world = await openGatedWorld();
    folder = await makeTemporaryFolder();
    const wallet = await writeWallet(folder);
    project = await createProject(world, { wallet: wallet.signer });
    client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
    door = await openDoor(world.url);
    const burns = Array.from({ length: BURNS_PER_PIPELINE }, () => burn(1));
    const pipelines = Array.from({ length: PIPELINES }, (_, ad) => pipeline('WATCH_AD', { ad }, ...burns));
    const file = await folder.write('request.json', JSON.stringify({ pipelines }));
    words = ['run', file, '--wallet', wallet.file];
    supply = await tokenSupply(world, project.mint);
  });

  after(async () => {
    await door?.close();
    await world?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  /** Runs the command. Every second time it finds no state of the times before. */
  async function run(options: readonly string[], killAt?: Promise<unknown>, killBy: NodeJS.Signals = 'SIGKILL') {
    started += 1;
    if (started % 2 === 0) await rm(join(folder.path, 'flywheel'), { recursive: true, force: true });
    const child = spawn(process.execPath, [FLYWHEEL, ...words, ...options], {
      env: {
        ...process.env,
        FLYWHEEL_URL: door.url,
        FLYWHEEL_API_KEY: project.apiKey,
        SOLANA_RPC_URL: world.localnet.url,
        XDG_STATE_HOME: folder.path,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    const errors = text(child.stderr);
    killAt?.then(() => child.kill(killBy));
    const [exitCode, signal] = await exited;
    return { exitCode, signal, stderr: await errors };
  }

  async function killed(options: readonly string[], step: string, killAt: Promise<unknown>): Promise<string> {
    const { signal, exitCode, stderr } = await run(options, killAt);
    assert.deepEqual([signal, exitCode], ['SIGKILL', null], `${step}: ${stderr}`);
    assert.doesNotMatch(stderr, /✗/, step);
    return stderr;
  }

  /** Kills at every step up to the execution, each time a new process, and answers the batch. */
  async function killUntilExecution(options: readonly string[]) {
    // A later run first looks whether it has begun, and at all of the run before it.
    const nth = options.length === 0 ? 1 : 4;
    const init = 'POST /v1/flywheel/batch/init';
    await killed(options, 'before init', door.reach(init, 'arrives', nth));
    const initialized = await killed(options, 'after init', door.reach(init, 'is answered', nth));
    const [, key = ''] = /^Idempotency key (\S+)$/m.exec(initialized) ?? [];
    await killed(options, 'while it is set up', door.reach('GET /v1/flywheel/batch/', 'is answered'));
    // Ctrl-C names what the killed commands have printed.
    const interrupted = await run(options, door.reach('include=approval', 'is answered'), 'SIGINT');
    assert.equal(interrupted.exitCode, 130, interrupted.stderr);
    const names = /ERR_INTERRUPTED.*\n {2}Batch (\S+), idempotency key (\S+)\n$/.exec(interrupted.stderr) ?? [];
    const [, batchId = ''] = names;
    assert.equal(names[2], key, interrupted.stderr);
    // The first execute of a resumed batch asks whether its execution has begun, the second one starts it.
    await killed(options, 'after the signature', door.reach('POST /v1/flywheel/batch/execute', 'arrives', 2));
    return client.getBatch(batchId);
  }

  /** Holds the nth bundle from now on and all after it. */
  function holdBundle(nth: number) {
    const [reached, decided] = [Promise.withResolvers<void>(), Promise.withResolvers<'pass' | 'drop'>()];
    let sent = 0;
    world.gate.intercept('sendBundle', async (_call, pass) => {
      sent += 1;
      if (sent < nth) return pass();
      reached.resolve();
      return (await decided.promise) === 'pass' ? pass() : 'hang up';
    });
    return {
      reached: reached.promise,
      release: () => decided.resolve('pass'),
      drop: () => decided.resolve('drop'),
    };
  }

  async function burned(): Promise<number> {
    return Number((supply - (await tokenSupply(world, project.mint))) / BASE_UNITS_PER_TOKEN) / BURNS_PER_PIPELINE;
  }

  it('run pays once, and joins an execution without a second signature', async () => {
    const { id } = await killUntilExecution([]);
    const hold = holdBundle(2);
    await killed([], 'half executed', hold.reached);
    const joined = door.reach('POST /v1/flywheel/batch/execute', 'arrives', 2);
    assert.match(await killed([], 'joined', joined), /✓ Approve with your wallet · by an earlier run/);
    hold.release();
    await waitUntil(
      'the end',
      () => client.getBatch(id),
      ({ status }) => status === 'EXECUTED',
    );
    world.gate.clear();
    await killed([], 'ended', door.reach('GET /v1/flywheel/batch/', 'is answered'));
    const ended = await run([]);
    assert.equal(ended.exitCode, 5, ended.stderr);
    assert.match(ended.stderr, /Paid on \S+; nothing was sent\. --again pays/);
    assert.equal(await burned(), PIPELINES);
  });

  it('run --again pays a second time, once, and after a failure only --rest continues', async () => {
    const { id } = await killUntilExecution(['--again']);
    const hold = holdBundle(2);
    await killed(['--again'], 'half executed', hold.reached);
    // What was held never arrives; the cancellation ends the batch once its blockhash has expired.
    hold.drop();
    await client.cancelBatch(id, { waitSeconds: 0 });
    const read = async () => {
      await world.localnet.warp({ slots: EXPIRY_SLOTS });
      return client.getBatch(id);
    };
    const failed = await waitUntil('the end', read, ({ status }) => status === 'FAILED');
    world.gate.clear();
    const executed = failed.executeResult?.totalSuccessful ?? 0;
    assert.ok(executed > 0 && executed < PIPELINES, `${executed}`);
    assert.equal(await burned(), PIPELINES + executed);

    const again = await run(['--again']);
    assert.equal(again.exitCode, 3, again.stderr);
    assert.match(again.stderr, /The same command with --rest sends the pipelines that were not executed/);
    const third = await run(['--run', '3']);
    assert.equal(third.exitCode, 2, third.stderr);
    assert.match(
      third.stderr,
      new RegExp(
        `Run 3 starts only after run 2 .*: ${PIPELINES - executed} of its ${PIPELINES} pipelines are not executed`,
      ),
    );
    assert.equal(await burned(), PIPELINES + executed);
  });

  it('run --rest pays what a failed batch left, once', async () => {
    const rest = ['--again', '--rest'];
    const { id, executeResult } = await killUntilRest(rest);
    assert.equal(executeResult, undefined);
    const hold = holdBundle(1);
    await killed(rest, 'execution begun', hold.reached);
    await killed(rest, 'joined', door.reach('POST /v1/flywheel/batch/execute', 'arrives', 2));
    hold.release();
    await waitUntil(
      'the end',
      () => client.getBatch(id),
      ({ status }) => status === 'EXECUTED',
    );
    world.gate.clear();
    assert.equal((await run(rest)).exitCode, 5);
    assert.equal((await run(['--again'])).exitCode, 5);
    assert.equal((await run([])).exitCode, 5);
    assert.equal(await burned(), 2 * PIPELINES);
    assert.equal((await client.listBatches({ limit: 100 })).batches.length, 3);
  });

  /** The failed batch of the run is replayed first: the rest is the second init that creates. */
  async function killUntilRest(options: readonly string[]) {
    await killed(options, 'before the failed batch', door.reach('POST /v1/flywheel/batch/init', 'is answered'));
    await killed(options, 'before the rest', door.reach('POST /v1/flywheel/batch/init', 'arrives', 3));
    assert.equal((await client.listBatches({ limit: 100 })).batches.length, 2);
    await killed(options, 'after the rest', door.reach('POST /v1/flywheel/batch/init', 'is answered', 3));
    await killed(options, 'after its setup', door.reach('include=approval', 'is answered'));
    await killed(options, 'after the signature', door.reach('POST /v1/flywheel/batch/execute', 'arrives', 2));
    const [batch] = (await client.listBatches({ limit: 1 })).batches;
    assert.ok(batch);
    return batch;
  }
});

/** A proxy between a command and the service at which the command is stopped at a chosen request. */
interface Door {
  readonly url: string;
  /** Resolves when the nth request with this text in its method and path arrives, or when the service has answered it. It is never passed on. */
  reach(path: string, moment: 'arrives' | 'is answered', nth?: number): Promise<void>;
  close(): Promise<void>;
}

async function openDoor(serviceUrl: string): Promise<Door> {
  let stop: { readonly path: string; readonly moment: string; left: number; readonly reached: () => void } | null =
    null;
  const server = createServer(async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url = '', method, headers } = incoming;
    const body = await buffer(incoming);
    const here = stop;
    const isHere = here !== null && `${method} ${url}`.includes(here.path) && --here.left === 0;
    if (isHere) stop = null;
    if (isHere && here.moment === 'arrives') return here.reached();
    const passed = request(new URL(url, serviceUrl), { method, headers }, async (answer) => {
      const answered = await buffer(answer);
      if (isHere) here.reached();
      else outgoing.writeHead(answer.statusCode ?? 500, answer.headers).end(answered);
    });
    // A command that was killed no longer waits for the answer.
    passed.on('error', () => outgoing.destroy());
    passed.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    reach: (path, moment, nth = 1) =>
      new Promise((resolve) => {
        stop = { path, moment, left: nth, reached: resolve };
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
