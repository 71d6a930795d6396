import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, mock, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { quietLog } from '@flywheel/testing/postgres';
import pg from 'pg';
import { isLastUser, joinUsers } from '../../src/store/postgres/users.ts';
import {
  type EmbeddedPostgres,
  type PostgresOptions,
  removePostgres,
  startPostgres,
} from '../../src/store/postgres.ts';

const root = await mkdtemp(join(tmpdir(), 'flywheel postgres tests '));
const dataDirectories = new Set<string>();
after(async () => {
  for (const dataDirectory of dataDirectories) await removePostgres(dataDirectory);
  await rm(root, { recursive: true });
});

test('three simultaneous starts on an empty directory run one server, which stops with its last user', async () => {
  const dataDirectory = join(root, 'shared');
  const users = await Promise.all([1, 2, 3].map(() => start(dataDirectory)));
  assert.deepEqual(users.map(({ adopted }) => adopted).toSorted(), [false, true, true]);
  assert.equal(new Set(users.map(({ poolConfig }) => poolConfig.host)).size, 1);

  const starter = users.find(({ adopted }) => !adopted);
  const [second, third] = users.filter(({ adopted }) => adopted);
  assert.ok(starter && second && third);
  await starter.stop();
  assert.equal(await answers(second), true);
  await Promise.all([second.stop(), third.stop()]);
  assert.equal(await answers(second), false);
});

test('a stopped server starts again with its rows, also if many users stop and start at once', async () => {
  const dataDirectory = join(root, 'shared');
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let i = 0; i < 2; i++) {
        const user = await start(dataDirectory);
        assert.equal(await answers(user), true);
        await user.stop();
      }
    }),
  );
});

test('a user that leaves while the last one stops the server is not the last, and does not fail', async () => {
  const { poolConfig, stop } = await start(join(root, 'shared'));
  const client = new pg.Client(poolConfig).on('error', () => undefined);
  await client.connect();
  assert.equal(await joinUsers(client), true);
  const query = mock.method(client, 'query', async (...words: Parameters<typeof client.query>) => {
    query.mock.restore();
    const answer = await client.query(...words);
    await stop();
    return answer;
  });
  assert.equal(await isLastUser(client), false);
});

test('the socket can be reached only by its own user, and its path is short for any directory', async () => {
  const dataDirectory = join(root, 'a long name '.repeat(15), 'ümlaut, isn’t it');
  const home = join(root, 'a long name '.repeat(15));
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  const { poolConfig, stop } = await start(dataDirectory);
  const host = poolConfig.host ?? '';
  assert.equal((await stat(host)).mode & 0o777, 0o700);
  assert.ok(Buffer.byteLength(`${host}/.s.PGSQL.5432`) <= 103);
  await stop();
  await assert.rejects(stat(host), /ENOENT/);
});

test('a server that is killed is reported, and one that recovers is not', async () => {
  const { directory, poolConfig, lost, stop } = await start(join(root, 'lost'));
  const reported = lost.then(() => 'reported');
  const client = new pg.Client(poolConfig);
  client.on('error', () => undefined);
  await client.connect();
  // The death of one process makes PostgreSQL end all connections and recover.
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
  await untilUsed(poolConfig);
  assert.equal(await Promise.race([reported, Promise.resolve('not yet')]), 'not yet');

  const lock = await readFile(join(directory, 'database', 'postmaster.pid'), 'utf8');
  process.kill(Number(lock.split('\n')[0]), 'SIGKILL');
  assert.match((await lost).message, /^The embedded PostgreSQL in .* has ended; its log is server\.log there\./);
  await stop();
});

test('a data directory whose database is gone does not start on an empty one', async () => {
  const dataDirectory = join(root, 'restored');
  const first = await start(dataDirectory);
  await first.stop();
  await rename(join(first.directory, 'database'), join(root, 'backup'));
  await assert.rejects(startPostgres({ dataDirectory, log: quietLog }), /^Error: The database of .* is missing: /);

  await rename(join(root, 'backup'), join(first.directory, 'database'));
  const restored = await start(dataDirectory);
  assert.equal(await answers(restored), true);
  await restored.stop();
});

test('acknowledged rows survive SIGKILL of their writer and then of the server', async () => {
  const dataDirectory = join(root, 'killed');
  const writer = spawnUser(dataDirectory);
  const acknowledged = await killAfter(writer, 300);
  const adopting = await start(dataDirectory);
  assert.equal(adopting.adopted, true);
  assert.ok((await countRows(adopting)) >= acknowledged);

  const lock = await readFile(join(adopting.directory, 'database', 'postmaster.pid'), 'utf8');
  process.kill(Number(lock.split('\n')[0]), 'SIGKILL');
  const restarted = await start(dataDirectory);
  assert.equal(restarted.adopted, false);
  assert.ok((await countRows(restarted)) >= acknowledged);
  await assert.rejects(stat(adopting.poolConfig.host ?? ''), /ENOENT/);
  await restarted.stop();
  await adopting.stop();
});

test('an exclusive user is the only one of its kind until it ends, even by SIGKILL', async () => {
  const dataDirectory = join(root, 'killed');
  const first = await start(dataDirectory, { exclusive: true });
  const refused = new RegExp(`killed is in use by Flywheel process ${process.pid}`);
  await assert.rejects(start(dataDirectory, { exclusive: true }), refused);
  const guest = await start(dataDirectory);
  await first.stop();
  const second = await start(dataDirectory, { exclusive: true });
  await Promise.all([second.stop(), guest.stop()]);

  const fresh = join(root, 'exclusive');
  await killAfter(spawnUser(fresh), 1);
  const heir = await start(fresh, { exclusive: true });
  assert.equal(heir.adopted, true);
  await heir.stop();
});

test('the server ignores its starter’s environment and working directory', async () => {
  const user = spawnUser(join(root, 'environment'), {
    rows: 3,
    cwd: root,
    env: { ...process.env, PGHOST: 'nowhere', PGPORT: '1', PGUSER: 'x', PGDATABASE: 'x', PGSSLMODE: 'require' },
  });
  const [code] = await once(user, 'exit');
  assert.equal(code, 0);
  dataDirectories.add(join(root, 'environment'));
});

test('a server that cannot start reports the reason', async () => {
  const starting = start(join(root, 'shared'), { settings: { shared_buffers: 'plenty' } });
  await assert.rejects(
    starting,
    /PostgreSQL did not start[\s\S]*invalid value for parameter "shared_buffers": "plenty"/,
  );
});

async function start(dataDirectory: string, options: Partial<PostgresOptions> = {}): Promise<EmbeddedPostgres> {
  dataDirectories.add(dataDirectory);
  const user = await startPostgres({ dataDirectory, log: quietLog, ...options });
  after(user.stop);
  return user;
}

interface UserOptions {
  readonly rows?: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

function spawnUser(dataDirectory: string, { rows, ...options }: UserOptions = {}): ChildProcess {
  const program = fileURLToPath(new URL('postgres-user.ts', import.meta.url));
  const args = [program, dataDirectory, ...(rows === undefined ? [] : [String(rows)])];
  return spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills the writer. @returns how many rows it had printed. */
async function killAfter(writer: ChildProcess, rows: number): Promise<number> {
  assert.ok(writer.stdout);
  let lines = 0;
  for await (const _ of createInterface(writer.stdout)) {
    lines += 1;
    if (lines === rows) writer.kill('SIGKILL');
  }
  assert.equal(writer.signalCode ?? (await once(writer, 'exit'))[1], 'SIGKILL');
  return lines;
}

async function countRows({ poolConfig }: EmbeddedPostgres): Promise<number> {
  const client = new pg.Client(poolConfig);
  await client.connect();
  const { rows } = await client.query<{ count: string }>('select count(*) from sign_in_challenges');
  await client.end();
  return Number(rows[0]?.count);
}

async function answers({ poolConfig }: EmbeddedPostgres): Promise<boolean> {
  const client = new pg.Client(poolConfig);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** Waits until a process that uses the server has joined again: the lock of a user is on its connection. */
async function untilUsed(poolConfig: EmbeddedPostgres['poolConfig']): Promise<void> {
  for (;;) {
    const client = new pg.Client(poolConfig);
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query("select from pg_locks where locktype = 'advisory' and granted");
      if (rows.length > 0) return;
    } catch {
      // It recovers.
    } finally {
      await client.end();
    }
  }
}
