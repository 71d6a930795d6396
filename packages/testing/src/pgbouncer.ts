import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findServerAccount } from '@flywheel/service/internal/store/postgres/account.ts';
import pg from 'pg';

/** The program: Debian's package, or the one that PGBOUNCER names. */
const PROGRAM = process.env.PGBOUNCER ?? 'pgbouncer';
const version = findVersion();

/** Option of a test that needs PgBouncer, with the reason for which it is skipped. */
export const WITH_PGBOUNCER = {
  skip: version === null && 'PgBouncer is not installed: apt install pgbouncer, or set PGBOUNCER to its path',
};

/** True if this PgBouncer can keep prepared statements. */
export const KEEPS_STATEMENTS = version !== null && version >= 21;

export interface PgBouncer {
  /** Translates a DATABASE_URL to one that leads through PgBouncer. */
  through(url: string): string;
  /** Processes of PostgreSQL that PgBouncer uses now. */
  serverProcesses(): Promise<number[]>;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer in transaction mode, on a socket of its own, in front of the server of a test's URL. Any user of that
 * server may connect.
 * @param settings of PgBouncer, besides those that make it run.
 */
export async function startPgBouncer(
  url: string,
  users: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const directory = await mkdtemp(join(tmpdir(), 'pgb-'));
  const account = await findServerAccount();
  const { host, port } = addressOf(url);
  const config = {
    listen_addr: '',
    listen_port: String(PORT),
    unix_socket_dir: directory,
    auth_type: 'trust',
    auth_file: join(directory, 'users'),
    stats_users: ADMINISTRATOR,
    pool_mode: 'transaction',
    // Fewer than the clients have, so that they share.
    default_pool_size: '6',
    max_client_conn: '500',
    logfile: join(directory, 'log'),
    ...settings,
  };
  const lines = Object.entries(config).map(([name, value]) => `${name} = ${value}`);
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(file, `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`);
  await writeFile(config.auth_file, [...users, ADMINISTRATOR].map((user) => `"${user}" ""\n`).join(''));
  if (account) await chown(directory, account.uid, account.gid);
  const child = spawn(PROGRAM, ['--quiet', file], {
    ...(account && { uid: account.uid, gid: account.gid }),
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const administrator = { host: directory, port: PORT, user: ADMINISTRATOR, database: 'pgbouncer' };
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGINT');
    await exited;
    await rm(directory, { recursive: true });
  };
  try {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while ((await show(administrator, 'version').catch(() => null)) === null) {
      if (child.exitCode !== null) throw new Error(`PgBouncer has ended with ${child.exitCode}.`);
      if (Date.now() > deadline) throw new Error(`PgBouncer does not answer after ${START_TIMEOUT_MS} ms.`);
      await sleep(20);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    through: (direct) => {
      const pooled = new URL(direct);
      pooled.port = String(PORT);
      pooled.searchParams.set('host', directory);
      return pooled.href;
    },
    serverProcesses: async () => (await show(administrator, 'servers')).map((row) => Number(row.remote_pid)),
    stop,
  };
}

/** A start takes milliseconds on an idle machine. */
const START_TIMEOUT_MS = 60_000;
/** Part of the socket's name only. */
const PORT = 6432;
const ADMINISTRATOR = 'pgbouncer_statistics';

async function show(config: pg.ClientConfig, what: 'version' | 'servers'): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(`show ${what}`)).rows;
  } finally {
    await client.end();
  }
}

function addressOf(url: string): { readonly host: string; readonly port: string } {
  const { searchParams, hostname, port } = new URL(url);
  return { host: searchParams.get('host') ?? hostname, port };
}

/** Minor version of PgBouncer 1; null if it is not installed. */
function findVersion(): number | null {
  try {
    const [, minor] = /PgBouncer 1\.(\d+)/.exec(execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' })) ?? [];
    return Number(minor);
  } catch {
    return null;
  }
}
