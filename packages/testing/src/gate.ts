import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BUNDLES_PATH, bundleIdOf } from '@flywheel/protocol';
import { type Base64EncodedWireTransaction, type Commitment, getSignatureFromTransaction } from '@solana/kit';
import { waitUntil } from './batches.ts';
import { findBatchOnChain } from './chain.ts';
import { WITH_BUNDLES } from './cluster.ts';
import type { TestProject } from './project.ts';
import { decodeTransaction } from './values.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

/** A proxy between a service and its cluster. It can delay calls, answer them itself, or drop their answers. */
export interface Gate {
  /** Variables that point a service at this proxy instead of the cluster's RPC and block engine. */
  readonly environment: Readonly<Record<string, string>>;
  /** Passes calls of a method to a handler from now on; `*` stands for all other methods. All others pass. */
  intercept(method: string, handler: CallHandler): void;
  /** Holds all calls of a method, later ones included, until they are released; then all of them pass. */
  hold(method: string): HeldCalls;
  /** Lets all calls pass again, and drops the connections of calls that a handler still holds. */
  clear(): void;
  stop(): Promise<void>;
}

export interface HeldCalls {
  /** Resolves when the first call has arrived. */
  readonly reached: Promise<void>;
  release(): void;
}

/** `pass` forwards the call to the cluster and resolves with its answer. */
export type CallHandler = (call: Call, pass: () => Promise<GateAnswer>) => Promise<GateAnswer | 'hang up'>;

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface GateAnswer {
  readonly status: number;
  readonly body: string;
}

/** Handles the bundles of one phase, and is given their transactions. */
export type BundleHandler = (
  wires: readonly Base64EncodedWireTransaction[],
  pass: () => Promise<GateAnswer>,
) => Promise<GateAnswer | 'hang up'>;

export interface GatedWorld extends World {
  readonly gate: Gate;
}

/** Opens a world whose service reaches the cluster only through a gate. */
export async function openGatedWorld(
  environment: Readonly<Record<string, string>> = {},
  options: WorldOptions = {},
): Promise<GatedWorld> {
  const world = await openWorld(environment, options);
  const gate = await openGate(world.localnet);
  await world.restart({ ...gate.environment, ...environment });
  return Object.create(world, {
    gate: { value: gate },
    stop: {
      value: async () => {
        gate.clear();
        await world.stop();
        await gate.stop();
      },
    },
  });
}

/** @param observe sees each call before it is handled or passes. */
export async function openGate(
  { url, blockEngineUrl }: World['localnet'],
  observe?: (call: Call) => Promise<void>,
): Promise<Gate> {
  const handlers = new Map<string, CallHandler>();
  let cleared = Promise.withResolvers<'hang up'>();
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const call = callOf(body);
    const path = request.url ?? '/';
    const target = path.startsWith(BUNDLES_PATH) ? blockEngineUrl : url;
    const pass = () => forward(new URL(path, target), request.method ?? 'GET', body);
    const handler = handlers.get(call.method) ?? handlers.get('*');
    await observe?.(call);
    const answered = (handler ? handler(call, pass) : pass()).catch(hangUp);
    const answer = await Promise.race([answered, cleared.promise]);
    if (answer === 'hang up') response.destroy();
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const intercept: Gate['intercept'] = (method, handler) => void handlers.set(method, handler);
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  const own = `http://127.0.0.1:${port}`;
  return {
    environment: {
      SOLANA_RPC_URL: own,
      // Browsers need the CORS headers of the cluster itself.
      PUBLIC_SOLANA_RPC_URL: url,
      JITO_BLOCK_ENGINE_URL: blockEngineUrl && `${own}${BUNDLES_PATH}`,
    },
    intercept,
    hold: (method) => holdCalls((hold) => intercept(method, (_call, pass) => hold(pass))),
    clear: () => {
      handlers.clear();
      cleared.resolve('hang up');
      cleared = Promise.withResolvers();
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Passes the bundles of one phase to a handler from now on. Those of other phases pass, such as the closing of the
 * batch of the test before, which the service sends whenever that batch is final.
 */
export function interceptBundles({ db, gate }: GatedWorld, phase: 'setup' | 'execution', handle: BundleHandler): void {
  gate.intercept('sendBundle', async ({ params: [wires] }, pass) => {
    const transactions = wires as Base64EncodedWireTransaction[]; // the method's first parameter
    const id = bundleIdOf(transactions.map((wire) => getSignatureFromTransaction(decodeTransaction(wire))));
    const row = await db.selectFrom('bundles').select('phase').where('bundle_id', '=', id).executeTakeFirst();
    assert.ok(row, 'a bundle is recorded before it is sent');
    return row.phase === phase ? handle(transactions, pass) : pass();
  });
}

/** Holds all bundles of a phase until they are released, as `Gate.hold` holds all calls. */
export function holdBundles(world: GatedWorld, phase: 'setup' | 'execution'): HeldCalls {
  return holdCalls((hold) => interceptBundles(world, phase, (_wires, pass) => hold(pass)));
}

/** Holds the simulations of what the company has signed as well, which come before a bundle of an execution is recorded. */
export function holdSigned({ gate }: GatedWorld): HeldCalls {
  return holdCalls((hold) =>
    gate.intercept('simulateTransaction', ({ params: [, config] }, pass) => {
      return JSON.stringify(config).includes('"sigVerify":true') ? hold(pass) : pass();
    }),
  );
}

function holdCalls(intercept: (hold: (pass: () => Promise<GateAnswer>) => Promise<GateAnswer>) => void): HeldCalls {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  intercept(async (pass) => {
    reached.resolve();
    await released.promise;
    return pass();
  });
  return { reached: reached.promise, release: released.resolve };
}

/** Ends a call that was not answered. An error other than the cluster's own silence is the test's, and fails it. */
function hangUp(error: unknown): 'hang up' {
  const isSilence = error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);
  if (!isSilence) queueMicrotask(() => Promise.reject(error));
  return 'hang up';
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses a call. A request without a body is for one of the block engine's pages. */
function callOf(body: string): Call {
  if (body === '') return { method: '', params: [] };
  const { method, params = [] } = JSON.parse(body);
  return { method, params };
}

async function forward(url: URL, method: string, body: string): Promise<GateAnswer> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, ...(body !== '' && { headers, body }) });
  return { status: response.status, body: await response.text() };
}

export const ENGINES = [
  { name: 'with the block engine', environment: {}, options: WITH_BUNDLES },
  { name: 'over RPC, without a block engine', environment: { JITO_BLOCK_ENGINE_URL: '' }, options: {} },
] as const;

export type Engine = (typeof ENGINES)[number];

export interface Hold {
  /** Resolves when a call is held, with the number of pipelines executed by then. What was sent before is confirmed. */
  readonly reached: Promise<number>;
  /**
   * Lets all calls pass again. Rejected and dropped transactions expire at once: slots are skipped until their
   * blockhash has expired.
   */
  release(): void;
  /** Lets no bundle land any more, although the block engine accepts each: all expire at once. */
  drop(): void;
}

/** More slots than the life of any blockhash (Agave, MAX_PROCESSING_AGE). */
const EXPIRY_SLOTS = 151n;

/**
 * Holds what is sent after the first pipelines of a batch were executed, so that a test can act in the middle of an
 * execution, however busy the machine is.
 */
export function holdSends(
  world: GatedWorld,
  { environment }: Engine,
  project: Pick<TestProject, 'projectId'>,
  batchIndex: bigint,
): Hold {
  const { gate, localnet } = world;
  const method = 'JITO_BLOCK_ENGINE_URL' in environment ? 'sendTransaction' : 'sendBundle';
  const reached = Promise.withResolvers<number>();
  const released = Promise.withResolvers<'pass' | 'drop'>();
  const countExecuted = async (commitment: Commitment) =>
    (await findBatchOnChain(world, project, batchIndex, commitment))?.batch.executedTransactionIndex ?? 0;
  let isReleased = false;
  gate.intercept(method, async (_call, pass) => {
    const executed = isReleased ? 0 : await countExecuted('processed');
    if (executed > 0) {
      await waitUntil(
        'the confirmation',
        () => countExecuted('confirmed'),
        (confirmed) => confirmed === executed,
      );
      reached.resolve(executed);
      if ((await released.promise) === 'drop') return dropBundle(localnet);
    }
    const answer = await pass();
    if (JSON.parse(answer.body).error !== undefined) await localnet.warp({ slots: EXPIRY_SLOTS });
    return answer;
  });
  gate.intercept('getInflightBundleStatuses', async (_call, pass) => {
    const answer = await pass();
    if (answer.body.includes('"Failed"')) await localnet.warp({ slots: EXPIRY_SLOTS });
    return answer;
  });
  return {
    reached: reached.promise,
    release: () => {
      isReleased = true;
      released.resolve('pass');
    },
    drop: () => released.resolve('drop'),
  };
}

/** Answers as the block engine does that accepts a bundle, which then never lands: its blockhash expires at once. */
export async function dropBundle({ warp }: World['localnet']): Promise<GateAnswer> {
  await warp({ slots: EXPIRY_SLOTS });
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: '0'.repeat(64) }) };
}
