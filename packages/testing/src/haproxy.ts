import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
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

/**
 * Starts HAProxy in front of PostgreSQL servers: it uses one that is no standby, and stays with it until it is lost, even if
 * another one says the same.
 */
export async function startHaProxy(servers: readonly PairedServer[]): Promise<HaProxy> {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'));
  const port = await findFreePort();
  const file = join(directory, 'haproxy.cfg');
  const socket = join(directory, 'stats.sock');
  const lines = servers.map(({ name, port: at }) => `  server ${name} 127.0.0.1:${at} check`);
  const settings = SETTINGS.replace('SOCKET', socket).replace('PORT', String(port));
  await writeFile(file, `${settings}${lines.join('\n')}\n`);
  // Until its first check a server counts as a primary.
  const stop = await runHaProxy(file, {}, () => hasChecked(socket));
  const remove = async () => {
    await stop();
    await rm(directory, { recursive: true });
  };
  return { url: `postgres://flywheel@127.0.0.1:${port}/postgres`, stop: remove };
}

/**
 * Runs HAProxy with a file of settings until the returned function stops it.
 * @param environment variables that the settings name.
 */
export async function runHaProxy(
  file: string,
  environment: Readonly<Record<string, string>>,
  isReady: () => Promise<boolean>,
): Promise<() => Promise<void>> {
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const child = spawn(PROGRAM, ['-q', '-db', '-f', file], {
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

/** A start-up message of protocol 3.0 for the user and the database of the servers. */
const STARTUP = startupMessage({ user: 'flywheel', database: 'postgres' });
/** What PostgreSQL reports at the start of a connection unless it is a standby. */
const IS_PRIMARY = Buffer.from('in_hot_standby\0off').toString('hex');

const SETTINGS = `
global
  stats socket SOCKET
defaults
  mode tcp
  timeout connect 2s
  timeout check 2s
  timeout client 1h
  timeout server 1h
listen database
  bind 127.0.0.1:PORT
  stick-table type ip size 1 nopurge
  stick on dst
  option tcp-check
  tcp-check connect
  tcp-check send-binary ${STARTUP}
  tcp-check expect binary ${IS_PRIMARY}
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
`;

function startupMessage(parameters: Readonly<Record<string, string>>): string {
  const text = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  const body = Buffer.concat([Buffer.from([0, 3, 0, 0]), Buffer.from(`${text.join('')}\0`)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + length.length);
  return Buffer.concat([length, body]).toString('hex');
}

/** Tells if each server has been checked; false also before HAProxy listens. */
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
