import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startLocalnet } from '@flywheel/localnet';
import { createLog } from '@flywheel/service/internal/log.ts';
import { removePostgres, startPostgres } from '@flywheel/service/internal/store/postgres.ts';
import { type Figures, ms, percentile, timeMs } from './figures.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STARTS = 5;
const AIM_MS = 2_000;

/** Measures how long `npm start` takes until it is ready, once with an empty data directory and then with a used one. */
export async function benchStart(): Promise<Figures> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-start-'));
  const npmStart = () => timeStart(directory, 'npm', ['start', '--silent']);
  try {
    const first = await npmStart();
    // In turns, so that a machine that becomes busy slows all of them.
    const rounds: { readonly [Part in keyof typeof PARTS]: number }[] = [];
    for (let i = 0; i < STARTS; i++) {
      const again = await npmStart();
      const direct = await timeStart(directory, process.execPath, ['apps/cli/bin/flywheel.js', 'start']);
      const modules = await timeRun(['--input-type=module', '--eval', LOAD]);
      const postgres = await timePostgres(directory);
      const cluster = await timeCluster(directory);
      const rest = direct - modules - postgres - cluster;
      rounds.push({ again, npm: again - direct, modules, postgres, cluster, rest });
    }
    return {
      title: `npm start until it is ready, median of ${STARTS}`,
      note: `The aim for a second start is ${AIM_MS} ms. Node with its modules, PostgreSQL and the cluster were measured one by one.`,
      rows: [
        ['first start', ms(first)],
        ...Object.entries(PARTS).map(([part, name]): [string, string] => {
          const sample = rounds.map((round) => round[part as keyof typeof PARTS]); // a key of the object
          return [name, ms(percentile(sample, 0.5))];
        }),
      ],
    };
  } finally {
    await removePostgres(directory);
    await rm(directory, { recursive: true });
  }
}

const PARTS = {
  again: 'second start',
  npm: 'of it npm, and the look for a stale console',
  modules: 'of it Node and the modules of the service',
  postgres: 'of it PostgreSQL',
  cluster: 'of it the cluster',
  rest: 'of it schema, jobs, worker and HTTP',
} as const;

/** Loads what `flywheel start` loads, with the same cache of compiled sources. */
const LOAD = `
  import module from 'node:module';
  import { join } from 'node:path';
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  module.enableCompileCache(caches && join(caches, 'flywheel', 'node'));
  await import('./apps/cli/src/main.ts');
  await import('@flywheel/service');
`;

/** @returns milliseconds until the process says that it is ready; then it is stopped. */
async function timeStart(directory: string, command: string, words: readonly string[]): Promise<number> {
  const { DATABASE_URL: _database, SOLANA_RPC_URL: _rpc, ...environment } = process.env;
  const began = performance.now();
  const child = spawn(command, words, {
    cwd: ROOT,
    env: { ...environment, PORT: '0', LOCALNET_PORT: '0', FLYWHEEL_DATA_DIR: directory, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await readyLine(child);
  const took = performance.now() - began;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  return took;
}

async function readyLine(child: ChildProcess): Promise<void> {
  if (!child.stdout) throw new Error('The process has no standard output.');
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('{"url"')) return;
  throw new Error('`npm start` ended before it was ready.');
}

function timeRun(words: readonly string[]): Promise<number> {
  return timeMs(() => once(spawn(process.execPath, words, { cwd: ROOT, stdio: 'inherit' }), 'exit'));
}

async function timePostgres(directory: string): Promise<number> {
  const began = performance.now();
  const { stop } = await startPostgres({ dataDirectory: directory, log: createLog('error') });
  const took = performance.now() - began;
  await stop();
  return took;
}

async function timeCluster(directory: string): Promise<number> {
  const began = performance.now();
  const { stop } = await startLocalnet({ stateDirectory: join(directory, 'localnet') });
  const took = performance.now() - began;
  await stop();
  return took;
}
