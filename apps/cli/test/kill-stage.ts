import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));

/** Starts commands as processes of their own and kills them at chosen requests to the service. */
export interface KillStage {
  /** Resolves when a request arrives, or when the service has answered it. The request or the answer is not passed on. */
  reach(point: Point): Promise<void>;
  run(words: readonly string[], kill?: Kill): Promise<Exit>;
  /** Requires that the command ran without an error until it was killed. @returns its stderr. */
  killed(words: readonly string[], step: string, at: Promise<unknown>): Promise<string>;
  close(): Promise<void>;
}

export interface Point {
  /** Text in the method and path. */
  readonly path: string;
  readonly moment: 'arrives' | 'is answered';
  /** 1, the first one, by default. */
  readonly nth?: number;
  /** Only init requests that create or replay the batch of this key. */
  readonly key?: string;
}

export interface Kill {
  readonly at: Promise<unknown>;
  readonly by: NodeJS.Signals;
}

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** @param folder keeps compiled code between the processes, which halves their start. */
export async function openKillStage(
  serviceUrl: string,
  { folder, environment }: { readonly folder: string; readonly environment: Readonly<Record<string, string>> },
): Promise<KillStage> {
  const door = await openDoor(serviceUrl);
  const run: KillStage['run'] = async (words, kill) => {
    const child = spawn(process.execPath, [FLYWHEEL, ...words], {
      env: {
        ...process.env,
        ...environment,
        FLYWHEEL_URL: door.url,
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    const errors = text(child.stderr);
    kill?.at.then(() => child.kill(kill.by));
    const [exitCode, signal] = await exited;
    return { exitCode, signal, stderr: await errors };
  };
  // Node writes the cache at the end of a process that is not killed.
  if (!existsSync(join(folder, 'compiled'))) await run(['help']);
  return {
    reach: door.reach,
    run,
    killed: async (words, step, at) => {
      const { signal, exitCode, stderr } = await run(words, { at, by: 'SIGKILL' });
      assert.deepEqual([signal, exitCode], ['SIGKILL', null], `${step}: ${stderr}`);
      assert.doesNotMatch(stderr, /✗/, step);
      return stderr;
    },
    close: door.close,
  };
}

/** A proxy between a command and the service. */
async function openDoor(serviceUrl: string) {
  let stop: (Point & { left: number; readonly reached: () => void }) | null = null;
  const isMeant = ({ path, key }: Point, { method, url, headers }: IncomingMessage, body: Buffer) => {
    if (!`${method} ${url}`.includes(path)) return false;
    // Init without pipelines only asks whether a key is used.
    return key === undefined || (headers['x-idempotency-key'] === key && !body.equals(NO_PIPELINES));
  };
  const server = createServer(async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url = '', method, headers } = incoming;
    const body = await buffer(incoming);
    const here = stop;
    const isHere = here !== null && isMeant(here, incoming, body) && --here.left === 0;
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
    reach: (point: Point) =>
      new Promise<void>((reached) => {
        stop = { ...point, left: point.nth ?? 1, reached };
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const NO_PIPELINES = Buffer.from('{"pipelines":[]}');
