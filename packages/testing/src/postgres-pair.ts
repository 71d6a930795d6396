import { execFile } from 'node:child_process';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findServerAccount, type ServerAccount } from '@flywheel/service/internal/store/postgres/account.ts';
import { provideBinaries } from '@flywheel/service/internal/store/postgres/binaries.ts';
import { initializeServer } from '@flywheel/service/internal/store/postgres/server.ts';
import pg from 'pg';

/** One of a few servers, of which one is replicated by the others. Each listens on a port of this machine that it keeps. */
export interface PairedServer {
  /** Its name as a standby. */
  readonly name: string;
  readonly port: number;
  /** A DATABASE_URL that leads to this server. */
  readonly url: string;
  /** Runs statements on a connection of their own. @returns the rows of the last one. */
  query<Row extends object = object>(...statements: readonly string[]): Promise<Row[]>;
  start(): Promise<void>;
  /** Ends the server as a loss of power does: with all its processes, at once. */
  kill(): Promise<void>;
  /** Replaces its files by a backup of another server, and starts it as a standby of that. */
  follow(primary: PairedServer): Promise<void>;
  /** Lets a running standby receive from another server, which it is not ahead of; from none if that is null. */
  receiveFrom(primary: PairedServer | null): Promise<void>;
  /** Ends the server, and deletes its files. */
  remove(): Promise<void>;
}

const DATABASE = 'postgres';
const USER = 'flywheel';

const SETTINGS = {
  // No crash of the machine is tested: a killed process loses nothing that it has written.
  fsync: 'off',
  listen_addresses: '127.0.0.1',
  wal_keep_size: '256MB',
  // How long a standby waits before it connects again; 5 s by default.
  wal_retrieve_retry_interval: '200ms',
  max_connections: '60',
  shared_buffers: '32MB',
};

/** Creates a server that does not run yet. @param others settings beside those of the tests, or instead of them. */
export async function createPairedServer(
  name: string,
  others: Readonly<Record<string, string>> = {},
): Promise<PairedServer> {
  const ownSettings = { ...SETTINGS, ...others };
  const account = await findServerAccount();
  const directory = await mkdtemp(join(tmpdir(), `pair-${name}-`));
  if (account) await chown(directory, account.uid, account.gid);
  const binaries = await provideBinaries(
    account ? { folder: '/var/lib/flywheel', always: true } : { folder: join(directory, 'binaries'), always: false },
  );
  const files = join(directory, 'database');
  const port = await findFreePort();
  const url = `postgres://${USER}@127.0.0.1:${port}/${DATABASE}`;
  const as = (program: string, args: readonly string[]) => runAs(account, program, args);

  const connectionTo = (primary: PairedServer) =>
    `host=127.0.0.1 port=${primary.port} user=${USER} application_name=${name}`;

  const server: PairedServer = {
    ...{ name, port, url },
    query: async (...statements) => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      try {
        let rows = [];
        for (const statement of statements) rows = (await client.query(statement)).rows;
        return rows;
      } finally {
        await client.end();
      }
    },
    start: async () => {
      await initializeServer({ directory, binaries, account, settings: ownSettings });
      const settings = { ...ownSettings, port: String(port), unix_socket_directories: directory };
      const options = Object.entries(settings).map(([key, value]) => `-c ${key}=${value}`);
      const log = join(directory, 'server.log');
      const args = ['--pgdata', files, '--silent', '--wait', '--log', log, '--options', options.join(' '), 'start'];
      await as(join(binaries, 'pg_ctl'), args);
    },
    kill: async () => {
      const pid = await readProcess(files);
      if (pid === null) return;
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
      const all = [pid, ...children.split(' ').map(Number)].filter((each) => each > 0);
      for (const each of all) end(each);
      while ((await Promise.all(all.map(isRunning))).includes(true)) await sleep(20);
      // They name a process that some init systems take a while to wait for, and until then it seems to run.
      await rm(join(files, 'postmaster.pid'));
      await rm(join(directory, `.s.PGSQL.${port}.lock`));
    },
    follow: async (primary) => {
      await rm(files, { recursive: true, force: true });
      const client = new pg.Client({ connectionString: primary.url });
      await client.connect();
      try {
        await client.query(`select pg_backup_start('${name}', fast => true)`);
        const { rows } = await client.query<{ files: string }>(`select current_setting('data_directory') as files`);
        await as('cp', ['-a', rows[0]?.files ?? '', files]);
        const stopped = await client.query<{ label: string }>(
          'select labelfile as label from pg_backup_stop(wait_for_archive => false)',
        );
        const label = stopped.rows[0]?.label ?? '';
        // The settings of the primary were copied too.
        await writeFile(join(files, 'postgresql.auto.conf'), `primary_conninfo = '${connectionTo(primary)}'\n`);
        await writeFile(join(files, 'backup_label'), label);
        await writeFile(join(files, 'standby.signal'), '');
        await rm(join(files, 'postmaster.pid'), { force: true });
        if (account) {
          for (const file of ['postgresql.auto.conf', 'backup_label', 'standby.signal']) {
            await chown(join(files, file), account.uid, account.gid);
          }
        }
      } finally {
        await client.end();
      }
      await server.start();
    },
    receiveFrom: async (primary) => {
      const connection = primary === null ? '' : connectionTo(primary);
      await server.query(`alter system set primary_conninfo = '${connection}'`, 'select pg_reload_conf()');
    },
    remove: async () => {
      await server.kill();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return server;
}

const execute = promisify(execFile);

async function runAs(account: ServerAccount | null, program: string, args: readonly string[]): Promise<void> {
  const owner = account && { uid: account.uid, gid: account.gid };
  await execute(program, args, { ...owner, cwd: '/', env: { LC_ALL: 'C', PATH: process.env.PATH } });
}

async function readProcess(files: string): Promise<number | null> {
  const lock = await readFile(join(files, 'postmaster.pid'), 'utf8').catch(() => '');
  return lock === '' ? null : Number.parseInt(lock, 10);
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^State:\s+[^ZX]/m.test(status);
}

/** Finds a port that is free now; a server that is started again keeps its port. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  const { promise, resolve } = Promise.withResolvers<void>();
  server.once('listening', resolve);
  await promise;
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('No port is free.');
  return address.port;
}
