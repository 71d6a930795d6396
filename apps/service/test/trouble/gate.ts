import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openWorld, type World, type WorldOptions } from '../world.ts';

/** Stands between a service and its cluster: what is called waits, is answered otherwise, or loses its answer there. */
export interface Gate {
  /** Of the cluster’s RPC, and of its block engine. */
  readonly environment: Readonly<Record<string, string>>;
  /** Treats the calls of a method from now on; `*` those of all others. What is not treated passes. */
  treat(method: string, treatment: Treatment): void;
  /** Holds up the calls of a method, those that come later included, until they are released: then all of them pass. */
  hold(method: string): HeldCalls;
  /** Everything passes again; what is being treated is hung up on. */
  clear(): void;
  stop(): Promise<void>;
}

export interface HeldCalls {
  /** Resolves when the first of them has come. */
  readonly reached: Promise<void>;
  release(): void;
}

/** `pass` hands the call over to the cluster and resolves with its answer. */
export type Treatment = (call: Call, pass: () => Promise<GateAnswer>) => Promise<GateAnswer | 'hang up'>;

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface GateAnswer {
  readonly status: number;
  readonly body: string;
}

export interface GatedWorld extends World {
  readonly gate: Gate;
}

/** A world whose service reaches the cluster through a gate only. */
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

export async function openGate({ url, blockEngineUrl }: World['localnet']): Promise<Gate> {
  const treatments = new Map<string, Treatment>();
  let cleared = Promise.withResolvers<'hang up'>();
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const call = callOf(body);
    const pass = () => forward(new URL(request.url ?? '/', url), request.method ?? 'GET', body);
    const treat = treatments.get(call.method) ?? treatments.get('*');
    const answered = (treat ? treat(call, pass) : pass()).catch(() => 'hang up' as const);
    const answer = await Promise.race([answered, cleared.promise]);
    if (answer === 'hang up') response.destroy();
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const treat: Gate['treat'] = (method, treatment) => void treatments.set(method, treatment);
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  const own = `http://127.0.0.1:${port}`;
  return {
    environment: { SOLANA_RPC_URL: own, JITO_BLOCK_ENGINE_URL: blockEngineUrl.replace(url, own) },
    treat,
    hold: (method) => {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      treat(method, async (_call, pass) => {
        reached.resolve();
        await released.promise;
        return pass();
      });
      return { reached: reached.promise, release: released.resolve };
    },
    clear: () => {
      treatments.clear();
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

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A request without a body is for a page of the block engine’s. */
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
