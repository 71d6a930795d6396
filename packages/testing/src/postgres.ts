import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { closeDb, type Db, openDb } from '@flywheel/service/internal/store/db.ts';
import { installJobs } from '@flywheel/service/internal/store/jobs/jobs.ts';
import { MIGRATIONS, migrate } from '@flywheel/service/internal/store/migrate.ts';
import { type EmbeddedPostgres, startPostgres } from '@flywheel/service/internal/store/postgres.ts';
import { provideRoles } from '@flywheel/service/internal/store/roles.ts';
import { sql } from 'kysely';
import pg from 'pg';

export { migrate };

/** Variables with which a service takes on the roles of `serve` and `work`; each test database has their rights. */
export const TEST_ROLES = { DATABASE_SERVE_ROLE: 'flywheel_serve', DATABASE_WORK_ROLE: 'flywheel_work' } as const;

export interface TestDatabase {
  readonly db: Db;
  /** Options for connections of the test's own. */
  readonly poolConfig: pg.PoolConfig;
  /** The same options as a DATABASE_URL. */
  readonly url: string;
  /** Called automatically after the file's tests. */
  close(): Promise<void>;
}

/**
 * Opens a migrated, empty database of its own on a real PostgreSQL, for one test file or one test. All files of a test
 * run share one server: the first starts it, the others adopt it, and it stops right after the run, however that ends.
 */
export function openTestDatabase(): Promise<TestDatabase> {
  const opened = createTestDatabase();
  // Before anything is awaited: a hook belongs to the suite that made the promise that was awaited last.
  after(async () => (await opened).close());
  return opened;
}

/** Opens a database without any table, on the server of the test databases. The test closes it. */
export async function openEmptyDatabase(): Promise<TestDatabase> {
  server ??= startTestPostgres();
  const { poolConfig: ofServer } = await server;
  const database = `empty_${randomUUID().replaceAll('-', '')}`;
  await onServer(await server, async (client) => {
    await client.query(`create database ${database}`);
  });
  const poolConfig = { ...ofServer, database };
  const db = openDb(poolConfig, quietLog);
  return { db, poolConfig, url: urlOf(poolConfig), close: once(() => closeDb(db)) };
}

/** Adds a column to every table of the service, as the migrations of a later release may. */
export async function addColumnToEveryTable(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
  `.execute(db);
  for (const { name } of rows) await sql`alter table ${sql.table(name)} add column later text`.execute(db);
}

/** Opens a pool on a database of its own, as an app has one. The test ends the pool. */
export async function openTestPool(): Promise<pg.Pool> {
  return new pg.Pool((await openTestDatabase()).poolConfig);
}

async function createTestDatabase(): Promise<TestDatabase> {
  server ??= startTestPostgres();
  template ??= server.then(provideTemplate);
  // A file that is done ends without waiting for its pools to notice.
  const poolConfig = { ...(await copyTemplate(await server, await template)), allowExitOnIdle: true };
  const db = openDb(poolConfig, quietLog);
  return { db, poolConfig, url: urlOf(poolConfig), close: once(() => closeDb(db)) };
}

/** Counts the sessions of this database that wait for a lock; the other files of a run share the server. */
export async function countLockWaits(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `.execute(db);
  return rows[0]?.count ?? 0;
}

/** A log for errors that a test provokes on purpose. */
export const quietLog = { info: () => undefined, warn: () => undefined, error: () => undefined };

let server: Promise<EmbeddedPostgres> | undefined;
let template: Promise<string> | undefined;

/** The process whose end is the end of the run: the runner that started this file, or this process. */
const RUN_PROCESS = process.env.NODE_TEST_CONTEXT === undefined ? process.pid : process.ppid;

const SETTINGS = {
  // The rows have no value after a crash of the machine.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  // The hundreds of databases of a run live for minutes.
  autovacuum: 'off',
  // Many files run at once, with some pools each.
  max_connections: '300',
};

async function startTestPostgres(): Promise<EmbeddedPostgres> {
  const dataDirectory = join(tmpdir(), `flywheel-tests-${RUN_PROCESS}`);
  const started = await startPostgres({ dataDirectory, settings: SETTINGS, log: quietLog });
  if (!started.adopted) stopAfterRun(dataDirectory, started);
  return started;
}

/**
 * Waits in a process of its own for the end of the run: files come and go, none knows that it is the last, and any may
 * be killed. SIGQUIT stops a server without writing anything back; its lock file is deleted last.
 */
const STOP_AFTER_RUN = `
  while kill -0 "$1" 2>/dev/null; do sleep 1; done
  lock="$2/database/postmaster.pid"
  kill -QUIT "$(head -n 1 "$lock")"
  while [ -e "$lock" ]; do sleep 0.05; done
  rm -rf "$2" "$3" "$4"
`;

function stopAfterRun(dataDirectory: string, { directory, poolConfig }: EmbeddedPostgres): void {
  const places = [directory, dataDirectory, String(poolConfig.host)];
  const args = ['-c', STOP_AFTER_RUN, 'stop-after-run', String(RUN_PROCESS), ...places];
  spawn('sh', args, { detached: true, stdio: 'ignore', cwd: '/' }).unref();
}

/**
 * Creates the template of a server and a set of migrations once, because migrations and queues take many times longer
 * than a copy of their result.
 */
async function provideTemplate(started: EmbeddedPostgres): Promise<string> {
  const name = `template_${await hashOfMigrations()}`;
  await onServer(started, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rows } = await client.query('select from pg_database where datname = $1', [name]);
    if (rows.length > 0) return;
    const unfinished = `unfinished_${randomUUID().replaceAll('-', '')}`;
    await client.query(`create database ${unfinished}`);
    await fillTemplate({ ...started.poolConfig, database: unfinished });
    await client.query(`alter database ${unfinished} rename to ${name}`);
  });
  return name;
}

const TEMPLATE_LOCK = 1;

async function hashOfMigrations(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of Object.keys(MIGRATIONS)) {
    hash.update(await readFile(new URL(import.meta.resolve(`@flywheel/service/migrations/${name}.ts`))));
  }
  return hash.digest('hex').slice(0, 16);
}

async function fillTemplate(poolConfig: pg.PoolConfig): Promise<void> {
  const db = openDb(poolConfig, quietLog);
  await migrate(db);
  await installJobs({ poolConfig, log: quietLog });
  await provideRoles(db, { serve: TEST_ROLES.DATABASE_SERVE_ROLE, work: TEST_ROLES.DATABASE_WORK_ROLE });
  await closeDb(db);
}

async function copyTemplate(started: EmbeddedPostgres, name: string): Promise<pg.PoolConfig> {
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  await onServer(started, async (client) => {
    await client.query(`create database ${database} template ${name} strategy file_copy`);
  });
  return { ...started.poolConfig, database };
}

async function onServer({ poolConfig }: EmbeddedPostgres, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(poolConfig);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function urlOf({ user, database, host, port }: pg.PoolConfig): string {
  return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host ?? '')}`;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
