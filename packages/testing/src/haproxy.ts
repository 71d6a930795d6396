import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { waitUntil } from './batches.ts';
import { findFreePort, type PairedServer } from './postgres-pair.ts';

/** The program: Debian's package, or the one that HAPROXY names. */
const PROGRAM = process.env.HAPROXY ?? 'haproxy';

/** Option of a test that needs HAProxy, with the reason for which it is skipped. */
export const WITH_HAPROXY = { skip: !isInstalled() && 'HAProxy is not installed: apt install haproxy' };

export interface HaProxy {
  /** A DATABASE_URL that leads to the primary. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts HAProxy in front of three PostgreSQL servers, with the settings of `deploy/haproxy`. */
export async function startHaProxy(servers: readonly PairedServer[]): Promise<HaProxy> {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'));
  const [address, socket] = [`127.0.0.1:${await findFreePort()}`, join(directory, 'stats.sock')];
  const statistics = join(directory, 'statistics.cfg');
  await writeFile(statistics, `global\n  stats socket ${socket}\n`);
  const places = servers.map(({ port }, i) => [`SERVER_${i + 1}`, `127.0.0.1:${port}`]);
  const environment = { LISTEN: address, ...Object.fromEntries(places) };
  // Until its first check a server counts as a primary.
  const stop = await runHaProxy([statistics, SETTINGS], environment, () => hasChecked(socket));
  const remove = async () => {
    await stop();
    await rm(directory, { recursive: true });
  };
  return { url: `postgres://flywheel@${address}/postgres`, stop: remove };
}

const SETTINGS = fileURLToPath(new URL('../../../deploy/haproxy/postgres.cfg', import.meta.url));

/**
 * Runs HAProxy with files of settings until the returned function stops it.
 * @param environment variables that the settings name.
 */
export async function runHaProxy(
  files: readonly string[],
  environment: Readonly<Record<string, string>>,
  isReady: () => Promise<boolean>,
): Promise<() => Promise<void>> {
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const child = spawn(PROGRAM, ['-q', '-db', ...files.flatMap((file) => ['-f', file])], {
    stdio: [...stdio],
    env: { ...process.env, ...environment },
  });
  const exited = once(child, 'exit');
  const isReadyOrEnded = async () => {
    if (await isReady()) return true;
    if (child.exitCode !== null) throw new Error(`HAProxy has ended with ${child.exitCode}.`);
    return false;
  };
  try {
    await waitUntil('HAProxy to be ready', isReadyOrEnded, Boolean);
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  }
  return async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await exited;
  };
}

/** Returns true if each server has been checked; false also before HAProxy listens. */
async function hasChecked(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    socket.end('show stat\n');
    const [head = '', ...rows] = (await text(socket)).trim().split('\n');
    const names = head.replace('# ', '').split(',');
    const [name, check] = [names.indexOf('svname'), names.indexOf('check_status')];
    const checks = rows
      .map((row) => row.split(','))
      .filter((row) => !['FRONTEND', 'BACKEND'].includes(row[name] ?? ''))
      .map((row) => row[check] ?? '');
    return checks.length > 0 && checks.every((status) => /L[467]/.test(status));
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function isInstalled(): boolean {
  try {
    execFileSync(PROGRAM, ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
