import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from './log.ts';
import { findServerAccount, type ServerAccount } from './postgres/account.ts';
import { provideBinaries } from './postgres/binaries.ts';
import {
  connectToServer,
  initializeServer,
  isLocked,
  type Server,
  type ServerConnection,
  startServer,
  stopServer,
} from './postgres/server.ts';
import { isLastUser, joinUsers, takeExclusively } from './postgres/users.ts';

export interface EmbeddedPostgres {
  /** Complete: nothing of the environment (PGHOST and the like) takes part. */
  readonly poolConfig: pg.PoolConfig;
  /** True when the server was running already: another process uses it, or the last one was killed. */
  readonly adopted: boolean;
  /** Directory of the server's files. */
  readonly directory: string;
  /** Ends this process's use. The server stops with its last user, whoever started it. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  readonly dataDirectory: string;
  /** Refuse when another process that asked for the same is using the data directory. */
  readonly exclusive?: boolean;
  /** Server settings beside our own, e.g. `{ fsync: 'off' }` where rows need not outlive the machine. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log: Pick<Log, 'info' | 'error'>;
}

/**
 * A real PostgreSQL below the data directory, on a unix socket that only its own user can open; started, or adopted
 * when it runs. Any number of processes may call this at once: the server's own lock file decides who starts it.
 * As root the server runs as another user, and its files lie under `/var/lib/flywheel`, since that user may not be
 * able to enter the data directory.
 * @throws Error when the server does not start, with the end of its log, or when `exclusive` is refused.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDirectory, exclusive = false, settings = {}, log } = options;
  const account = await findServerAccount();
  await mkdir(dataDirectory, { recursive: true });
  const directory = await makeDirectory(await realpath(dataDirectory), account);
  const binaries = await provideBinaries(
    account ? { folder: ROOT_DIRECTORY, always: true } : { folder: join(directory, 'binaries'), always: false },
  );
  const server: Server = { directory, binaries, account, settings };
  const { client, socket, adopted } = await startOrAdopt(server);
  let connected = true;
  client.on('error', (error) => {
    if (connected) log.error({ err: error, directory }, 'connection to the embedded PostgreSQL lost');
    connected = false;
  });
  if (exclusive) await takeExclusively(client, dataDirectory);
  // Its locks must not keep a finished process alive.
  socket.unref();
  const { host, port, user, database } = client;
  log.info({ directory, socket: host, account: account?.name, adopted }, 'PostgreSQL runs');
  return {
    // Unix sockets carry no TLS; PGSSLMODE would have it asked for.
    poolConfig: { host, port, user, database, ssl: false },
    adopted,
    directory,
    async stop() {
      if (!connected) return;
      connected = false;
      socket.ref();
      // The server ends the connections that are left, this one among them.
      if (await isLastUser(client)) await stopServer(server, host);
      await client.end();
    },
  };
}

/** Deletes the server's files of a data directory, which are in another directory for root. The server must not be in use. */
export async function removePostgres(dataDirectory: string): Promise<void> {
  const account = await findServerAccount();
  await rm(placeOf(await realpath(dataDirectory), account), { recursive: true, force: true });
}

/** For root only: a folder a data directory, beside the binaries that all of them share. */
const ROOT_DIRECTORY = '/var/lib/flywheel';

function placeOf(dataDirectory: string, account: ServerAccount | null): string {
  if (!account) return join(dataDirectory, 'postgres');
  const hash = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16);
  return join(ROOT_DIRECTORY, hash);
}

async function makeDirectory(dataDirectory: string, account: ServerAccount | null): Promise<string> {
  const directory = placeOf(dataDirectory, account);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account) {
    await chmod(ROOT_DIRECTORY, 0o755);
    await chown(directory, account.uid, account.gid);
    // For whoever finds the folder and wonders.
    await writeFile(join(directory, 'data-directory'), `${dataDirectory}\n`);
  }
  return directory;
}

/** A start that fails is tried again: another process may be starting or stopping the same server. */
const START_ATTEMPTS = 3;
const START_RETRY_MS = 200;
/** A killed server holds its lock for as long as its parent has not buried it, which some init systems take time for. */
const LOCK_TIMEOUT_MS = 15_000;

async function startOrAdopt(server: Server): Promise<ServerConnection & { readonly adopted: boolean }> {
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  for (let attempt = 1; ; attempt++) {
    const running = await connectAsUser(server);
    if (running) return { ...running, adopted: true };
    try {
      await initializeServer(server);
      await startServer(server);
    } catch (error) {
      const mayMend = attempt < START_ATTEMPTS || ((await isLocked(server)) && Date.now() < deadline);
      if (!mayMend) throw error;
      await sleep(START_RETRY_MS);
      continue;
    }
    const started = await connectAsUser(server);
    if (started) return { ...started, adopted: false };
  }
}

/** Null when the server does not run, or stops while we come in. */
async function connectAsUser(server: Server): Promise<ServerConnection | null> {
  const connection = await connectToServer(server);
  if (connection === null || (await joinUsers(connection.client))) return connection;
  await connection.client.end();
  return null;
}
