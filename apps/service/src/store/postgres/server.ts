import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chown, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { hasCode } from '../../model/has-code.ts';
import type { ServerAccount } from './account.ts';

export interface Server {
  /** Directory of the database's folder and the server's log; owned by the account. */
  readonly directory: string;
  /** Directory of `initdb` and `pg_ctl`. */
  readonly binaries: string;
  /** Account that runs the server; null for the current user. */
  readonly account: ServerAccount | null;
  readonly settings: Readonly<Record<string, string>>;
}

/** Limit for a clean stop, and for the recovery of a killed server. */
const SERVER_TIMEOUT_SECONDS = 60;
const POLL_INTERVAL_MS = 20;

/** A connection outside every pool. */
export interface ServerConnection {
  readonly client: pg.Client;
  readonly socket: Socket;
}

/**
 * Connects to the server if it runs, and waits if it is starting or stopping; null if it does not run. `pg_ctl status`
 * is not used, because it calls a killed server running for a second.
 */
export async function connectToServer({ directory }: Server): Promise<ServerConnection | null> {
  const deadline = Date.now() + SERVER_TIMEOUT_SECONDS * 1000;
  for (;;) {
    const address = await readAddress(directory);
    if (!address) return null;
    const socket = new Socket();
    const client = new pg.Client({
      ...address,
      stream: () => socket,
      user: SUPERUSER,
      database: 'postgres',
      ssl: false,
      application_name: `Flywheel process ${process.pid}`,
      connectionTimeoutMillis: SERVER_TIMEOUT_SECONDS * 1000,
    });
    // A broken connection is an error of its queries.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return { client, socket };
    } catch (error) {
      await client.end();
      // No server listens.
      if (hasCode(error, 'ENOENT', 'ECONNREFUSED')) return null;
      if (!isNotReady(error) || Date.now() > deadline) throw error;
      await sleep(POLL_INTERVAL_MS);
    }
  }
}

/** Needs no password: only the server's user can open its socket. */
const SUPERUSER = 'flywheel';
const MAJOR_VERSION = '18';

/** True if the server's database was created. */
export async function hasDatabase({ directory }: Pick<Server, 'directory'>): Promise<boolean> {
  return (await readIfThere(join(databaseFolder(directory), 'PG_VERSION'))) !== null;
}

/** Creates the database's directory if it does not exist, atomically for other processes. */
export async function initializeServer(server: Server): Promise<void> {
  const folder = databaseFolder(server.directory);
  const version = await readIfThere(join(folder, 'PG_VERSION'));
  if (version !== null && version.trim() !== MAJOR_VERSION) {
    throw new Error(`${folder} was made by PostgreSQL ${version.trim()}; this one is PostgreSQL ${MAJOR_VERSION}.`);
  }
  if (version !== null) return;
  const unfinished = `${folder}.${randomUUID()}`;
  await run(server, 'initdb', [
    ...['--pgdata', unfinished, '--username', SUPERUSER, '--auth', 'trust', '--no-instructions'],
    // Sorts text equally on every machine, without its locales.
    ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    ...(server.settings.fsync === 'off' ? ['--no-sync'] : []),
  ]);
  await rename(unfinished, folder).catch(async (error: unknown) => {
    // Another process was first.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    await rm(unfinished, { recursive: true });
  });
}

/** Runs the server detached: it outlives a killed Node, and the next one adopts it. */
export async function startServer(server: Server): Promise<void> {
  const left = await readAddress(server.directory);
  const socketFolder = await makeSocketFolder(server.account);
  const settings = {
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // It would only log one line every five minutes.
    log_checkpoints: 'off',
    ...server.settings,
  };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${quoteForShell(value)}`);
  const log = join(server.directory, 'server.log');
  try {
    await control(server, ['--log', log, '--options', options.join(' '), 'start']);
  } catch (cause) {
    // The one that stopped this server while it started may have been faster.
    await removeSocketFolder(socketFolder);
    const lines = (await readIfThere(log))?.trimEnd().split('\n').slice(-LOG_LINES) ?? [];
    throw new Error(`PostgreSQL did not start in ${server.directory}. Its log ends:\n${lines.join('\n')}`, { cause });
  }
  // The socket folder of a killed server, which the new server does not know.
  if (left) await removeSocketFolder(left.host);
}

const LOG_LINES = 10;

/** True while a server of this folder runs, starts or stops, or was killed. */
export async function isLocked({ directory }: Server): Promise<boolean> {
  return (await readIfThere(lockFile(directory))) !== null;
}

export async function stopServer(server: Server, socketFolder: string): Promise<void> {
  await control(server, ['--mode', 'fast', 'stop']);
  await removeSocketFolder(socketFolder);
}

/** Part of the socket's name only: the server does not listen on the network. */
const PORT = 5432;
const SOCKET_FOLDER_PREFIX = 'flywheel-';
/** `sun_path` holds 107 bytes on Linux, 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;
/** `mkdtemp` adds six characters to a prefix. */
const RANDOM_NAME_BYTES = 6;

/** Creates a folder of mode 0700: only its owner can enter it and connect. */
async function makeSocketFolder(account: ServerAccount | null): Promise<string> {
  const name = join(tmpdir(), SOCKET_FOLDER_PREFIX, `.s.PGSQL.${PORT}`);
  const parent = Buffer.byteLength(name) + RANDOM_NAME_BYTES <= MAX_SOCKET_PATH_BYTES ? tmpdir() : '/tmp';
  const folder = await mkdtemp(join(parent, SOCKET_FOLDER_PREFIX));
  if (account) await chown(folder, account.uid, account.gid);
  return folder;
}

async function removeSocketFolder(folder: string): Promise<void> {
  if (basename(folder).startsWith(SOCKET_FOLDER_PREFIX)) await rm(folder, { recursive: true, force: true });
}

async function control(server: Server, args: readonly string[]): Promise<void> {
  const always = ['--silent', '--wait', '--timeout', String(SERVER_TIMEOUT_SECONDS)];
  await run(server, 'pg_ctl', ['--pgdata', databaseFolder(server.directory), ...always, ...args]);
}

const execute = promisify(execFile);

async function run({ binaries, account }: Server, program: string, args: readonly string[]): Promise<void> {
  await execute(join(binaries, program), args, {
    ...(account && { uid: account.uid, gid: account.gid }),
    // A folder that every account may enter, and an environment without the PG variables of this process.
    cwd: '/',
    env: { LC_ALL: 'C' },
  });
}

function databaseFolder(directory: string): string {
  return join(directory, 'database');
}

function lockFile(directory: string): string {
  return join(databaseFolder(directory), 'postmaster.pid');
}

/**
 * Reads where the server listens, or listened before it was killed; null if it was stopped or is just starting.
 * Lines of the lock file: process, folder, start time, port, socket folder (PostgreSQL, `src/include/utils/pidfile.h`).
 */
async function readAddress(directory: string): Promise<{ host: string; port: number } | null> {
  const lines = (await readIfThere(lockFile(directory)))?.split('\n') ?? [];
  const [, , , port, host] = lines;
  return port && host ? { port: Number(port), host } : null;
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  });
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** 57P03: it is starting up or shutting down. 57P01 and a closed socket: it shut down during the connection. */
function isNotReady(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError))
    return error instanceof Error && /terminated|ECONNRESET|EPIPE/.test(error.message);
  return error.code === '57P03' || error.code === '57P01';
}
