import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeBinDirectory } from './clients.ts';
import { ROOT } from './code-blocks.ts';

/** The service of `npm start`, on ports and in a directory of its own. */
export interface ScratchService extends AsyncDisposable {
  readonly url: string;
  readonly rpcUrl: string;
  /** Environment of a terminal in which the pages are followed. */
  readonly environment: NodeJS.ProcessEnv;
  /**
   * Creates a directory with the programs that the pages use, as in the repository, and no results of earlier pages.
   */
  openDirectory(name: string): Promise<string>;
  /** Replaces the addresses in the text of a page by this service's. */
  localize(text: string): string;
}

const FLYWHEEL = join(ROOT, 'apps/cli/bin/flywheel.js');

export async function startScratchService(): Promise<ScratchService> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-docs-'));
  const own = { FLYWHEEL_OFFLINE: '1', FLYWHEEL_SQUADS_PROGRAM: 'emulation', LOG_LEVEL: 'error' };
  const service = spawn(process.execPath, [FLYWHEEL, 'start'], {
    env: {
      ...process.env,
      ...own,
      PORT: '0',
      LOCALNET_PORT: '0',
      LOCALNET_SLOT_MS: '50',
      RATE_LIMIT_INIT: '1000/60',
      RATE_LIMIT_EXECUTE: '1000/60',
      RATE_LIMIT_CONSOLE: '10000/60',
      FLYWHEEL_DATA_DIR: join(directory, '.flywheel'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { url, rpcUrl } = JSON.parse(await firstLine(service));
  const freePort = await findFreePort();
  const bin = await makeBinDirectory(directory);
  const environment = {
    ...process.env,
    ...own,
    PATH: `${bin}:${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
    FLYWHEEL_URL: url,
    SOLANA_RPC_URL: rpcUrl,
    SOLANA_CLUSTER_IS_LOCAL: '1',
    NO_COLOR: '1',
  };
  return {
    url,
    rpcUrl,
    environment,
    openDirectory: (name) => openDirectory(directory, name),
    localize: (text) =>
      text
        .replaceAll('http://127.0.0.1:4000', url)
        .replaceAll('http://127.0.0.1:8899', rpcUrl)
        .replaceAll('3100', String(freePort)),
    async [Symbol.asyncDispose]() {
      service.kill('SIGTERM');
      if (service.exitCode === null) await once(service, 'exit');
      await rm(directory, { recursive: true });
    },
  };
}

/** Finds a port for a program that a page starts beside the service. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('The service was started without stdout.');
  const lines = createInterface(stdout);
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(lines, 'close').then(() => {
      throw new Error('The service ended before it was ready.');
    }),
  ]);
  return line;
}

/** Files of the repository that the pages use. */
const LINKED = ['node_modules', 'examples', 'vectors', 'docs', 'deploy'];

async function openDirectory(directory: string, name: string): Promise<string> {
  const opened = join(directory, name.replaceAll('/', '-'));
  await mkdir(join(opened, '.flywheel'), { recursive: true });
  await Promise.all(LINKED.map((linked) => symlink(join(ROOT, linked), join(opened, linked))));
  return opened;
}
