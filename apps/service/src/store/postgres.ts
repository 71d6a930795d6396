import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { hasCode } from '../model/has-code.ts';
import type { Log } from '../model/log.ts';
import { fileExists } from './file-exists.ts';
import { findServerAccount, type ServerAccount } from './postgres/account.ts';
import { provideBinaries } from './postgres/binaries.ts';
import {
  connectToServer,
  hasDatabase,
  initializeServer,
  isLocked,
  type Server,
  type ServerConnection,
  startServer,
  stopServer,
} from './postgres/server.ts';
import { isLastUser, joinUsers, takeExclusively } from './postgres/users.ts';

export interface EmbeddedPostgres {
  /** Complete options, which ignore the environment (PGHOST and so on). */
  readonly poolConfig: pg.PoolConfig;
  /** True if the server was already running: another process uses it, or the last one was killed. */
  readonly adopted: boolean;
  /** Directory of the server's files. */
  readonly directory: string;
  /** Resolves if the server ends while this process uses it, with an error that says so; never otherwise. */
  readonly lost: Promise<LostDatabase>;
  /** Ends this process's use. The server stops with its last user, whichever process started it. */
  stop(): Promise<void>;
}

/**
 * The error of an embedded server that has ended while a process used it. The message is for the person who runs the
 * process.
 */
export class LostDatabase extends Error {}

export interface PostgresOptions {
  readonly dataDirectory: string;
  /** Throws if another process uses the data directory exclusively. */
  readonly exclusive?: boolean;
  /** Additional server settings, e.g. `{ fsync: 'off' }` if rows need not survive a crash of the machine. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log: Pick<Log, 'info' | 'error'>;
}

/**
 * Starts a real PostgreSQL below the data directory, on a unix socket that only its own user can open, or adopts the one
 * that runs there. Any number of processes may call this at once: the server's own lock file decides which one starts it.
 * Under root the server runs as another user, and its files are below `/var/lib/flywheel`, since that user may not be
 * able to enter the data directory.
 * @throws Error if the server does not start, with the end of its log, or if `exclusive` cannot be granted.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDirectory, exclusive = false, settings = {}, log } = options;
  const account = await findServerAccount();
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const directory = await makeDirectory(await realpath(dataDirectory), account);
  const binaries = await provideBinaries(
    account ? { folder: ROOT_DIRECTORY, always: true } : { folder: join(directory, 'binaries'), always: false },
  );
  const server: Server = { directory, binaries, account, settings };
  await requireDatabase(dataDirectory, server);
  const { adopted, ...first } = await startOrAdopt(server);
  await writeFile(join(dataDirectory, DATABASE_NOTE), `${directory}\n`);
  const lost = Promise.withResolvers<Error>();
  let connection: ServerConnection | null = null;
  const use = async (next: ServerConnection) => {
    connection = next;
    next.client.on('error', (error) => void rejoin(error));
    if (exclusive) await takeExclusively(next.client, dataDirectory);
    // Its locks must not keep a finished process alive.
    next.socket.unref();
  };
  const { host, port, user, database } = first.client;
  /** A connection can break while the server lives on, e.g. when it recovers from the death of one of its processes. */
  const rejoin = async (cause: Error) => {
    if (connection === null) return;
    connection = null;
    log.error({ err: cause, directory }, 'connection to the embedded PostgreSQL lost');
    try {
      const next = await connectAsUser(server);
      if (next !== null && next.client.host === host) return await use(next);
      await next?.client.end();
    } catch (error) {
      log.error({ err: error, directory }, 'the embedded PostgreSQL does not answer');
    }
    lost.resolve(
      new LostDatabase(
        `The embedded PostgreSQL in ${directory} has ended; its log is server.log there. Start again: it recovers.`,
        {
          cause,
        },
      ),
    );
  };
  await use(first);
  log.info({ directory, socket: host, account: account?.name, adopted }, 'PostgreSQL runs');
  return {
    // Unix sockets have no TLS; PGSSLMODE would request it.
    poolConfig: { host, port, user, database, ssl: false },
    adopted,
    directory,
    lost: lost.promise,
    async stop() {
      if (connection === null) return;
      const { client, socket } = connection;
      connection = null;
      socket.ref();
      // The server closes the remaining connections, including this one.
      if (await isLastUser(client)) await stopServer(server, host);
      await client.end();
    },
  };
}

/** Returns true if a data directory has a database, or has had one: `startPostgres` never begins with an empty one there. */
export async function hasPostgres(dataDirectory: string): Promise<boolean> {
  if (!(await fileExists(dataDirectory))) return false;
  if (await fileExists(join(dataDirectory, DATABASE_NOTE))) return true;
  // Release 0.1 wrote no note.
  return hasDatabase({ directory: databaseDirectoryOf(await realpath(dataDirectory), await findServerAccount()) });
}

/** Deletes the server's files of a data directory, which are in another directory for root. The server must not be in use. */
export async function removePostgres(dataDirectory: string): Promise<void> {
  const account = await findServerAccount();
  await rm(join(dataDirectory, DATABASE_NOTE), { force: true });
  await rm(databaseDirectoryOf(await realpath(dataDirectory), account), { recursive: true, force: true });
}

/** File in the data directory that says where its database is. */
const DATABASE_NOTE = 'database-directory';

/** @throws Error if the data directory had a database that is gone: it was restored or moved without it. */
async function requireDatabase(dataDirectory: string, server: Server): Promise<void> {
  const note = join(dataDirectory, DATABASE_NOTE);
  const known = await readFile(note, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (known === null || (await hasDatabase(server))) return;
  const moved = known.trim() === server.directory ? '' : ` It was in ${known.trim()}: move that folder there.`;
  throw new Error(
    `The database of ${dataDirectory} is missing: there is none in ${server.directory}.${moved} ` +
      `Restore it from the same backup; or delete ${note} to start with an empty database.`,
  );
}

/** Directory for root only, with a folder per data directory beside the shared binaries. */
const ROOT_DIRECTORY = '/var/lib/flywheel';

function databaseDirectoryOf(dataDirectory: string, account: ServerAccount | null): string {
  if (!account) return join(dataDirectory, 'postgres');
  const hash = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16);
  return join(ROOT_DIRECTORY, hash);
}

async function makeDirectory(dataDirectory: string, account: ServerAccount | null): Promise<string> {
  const directory = databaseDirectoryOf(dataDirectory, account);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account) {
    await chmod(ROOT_DIRECTORY, 0o755);
    await chown(directory, account.uid, account.gid);
    // A note for administrators who find the folder.
    await writeFile(join(directory, 'data-directory'), `${dataDirectory}\n`);
  }
  return directory;
}

/** A failed start is retried, because other processes may be starting and stopping the same server. */
const START_ATTEMPTS = 6;
const START_RETRY_MS = 200;
/** A killed server holds its lock until its parent process has waited for it, which takes some init systems a while. */
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

/** Connects and joins the users; null if the server does not run, or is stopping. */
async function connectAsUser(server: Server): Promise<ServerConnection | null> {
  const connection = await connectToServer(server);
  if (connection === null || (await joinUsers(connection.client))) return connection;
  await connection.client.end();
  return null;
}
