import {
  Kysely,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
  sql,
} from 'kysely';
import pg from 'pg';
import type { Log } from '../model/log.ts';
import { orUnavailable } from './database-unavailable.ts';
import type { Pooler } from './pooler.ts';
import type { Schema } from './schema.ts';
import { createStatementNames, type StatementNames } from './statement-names.ts';

/** The database, or one of its transactions. */
export type Db = Kysely<Schema>;

/**
 * Opens a pool of connections. It reads chain amounts and indices as bigint, days as text (`2026-11-21`) and bytes as
 * Uint8Array. `pg`'s own table of types, which other users of the driver share, is not changed.
 * @param pooler that answers there, if there is one. It refuses settings, so PostgreSQL has the timeouts for its login.
 */
export function openDb(config: pg.PoolConfig, log: Pick<Log, 'error'>, pooler: Pooler | null = null): Db {
  const timeouts = pooler === null ? TIMEOUTS : {};
  const pool = new pg.Pool({ ...DEFAULTS, ...timeouts, ...config, types: { getTypeParser } });
  // Without these handlers a connection that breaks, idle or in a transaction, would end the process.
  pool.on('connect', (client) => {
    client.on('error', (error) => log.error({ err: error }, 'database connection lost'));
  });
  pool.on('error', () => undefined); // the pool reports the error too
  const running: Running = new Set();
  const names = pooler?.keepsStatements === false ? () => undefined : createStatementNames();
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: observed(pool, names, running) }) });
  poolOf.set(db, { pool, running });
  return db;
}

/** Queries that run. */
type Running = Set<{ readonly sinceMs: number }>;

const poolOf = new WeakMap<Db, { readonly pool: pg.Pool; readonly running: Running }>();

/** Seconds for which the oldest query of a pool has been running; 0 if none is. */
export function oldestQuerySeconds(db: Db): number {
  const nowMs = performance.now();
  const running = [...(poolOf.get(db)?.running ?? [])].map(({ sinceMs }) => (nowMs - sinceMs) / 1_000);
  return Math.max(0, ...running);
}

/** The number of queries and transactions that wait for a connection of a pool. */
export function countWaiting(db: Db): number {
  return poolOf.get(db)?.pool.waitingCount ?? 0;
}

export async function closeDb(db: Db): Promise<void> {
  await db.destroy();
}

/** Resolves when the database answers. */
export async function ping(db: Db): Promise<void> {
  await sql`select 1`.execute(db);
}

/** Runs in the given transaction, or in a new one. */
export async function inTransaction<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}

/**
 * Gives a name to each statement that comes again, so that each connection prepares it once and PostgreSQL neither parses nor
 * plans it every time, which often takes longer than to execute it. Lists the queries that run.
 */
function observed(pool: pg.Pool, nameOf: StatementNames, running: Running): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect().catch(orUnavailable);
      const known = clients.get(client) ?? observedClient(client, nameOf, running);
      clients.set(client, known);
      return known;
    },
  };
}

function observedClient(client: pg.PoolClient, nameOf: StatementNames, running: Running): PostgresPoolClient {
  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  function query(text: string | PostgresCursor<unknown>, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new Error('The service reads no rows through a cursor.');
    const name = values.length === 0 ? undefined : nameOf(text);
    const begun = { sinceMs: performance.now() };
    running.add(begun);
    const answered = client.query({ text, values: [...values], ...(name !== undefined && { name }) });
    return answered.catch(orUnavailable).finally(() => running.delete(begun));
  }
  return { query, release: (destroy) => client.release(destroy) };
}

/**
 * If a server is gone without a word, its idle connections end after 20 s (`net`, setKeepAlive), before a query waits
 * for one.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const satisfies pg.PoolConfig;

const DEFAULTS = {
  application_name: 'flywheel',
  max: 10,
  connectionTimeoutMillis: 10_000,
  // A new connection prepares its statements again, which costs a request 20 to 30 ms: `pg` closes an idle one after 10 s.
  idleTimeoutMillis: 300_000,
  ...KEEP_ALIVE,
} as const satisfies pg.PoolConfig;

/** Every query takes less than a second: a longer one means an error, and waiting makes it worse. */
const TIMEOUTS = {
  statement_timeout: 30_000,
  idle_in_transaction_session_timeout: 60_000,
} as const satisfies pg.PoolConfig;

/** By type oid (PostgreSQL, `pg_type.dat`). The schema has no numeric with a fraction. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [pg.types.builtins.INT8, BigInt],
  [pg.types.builtins.NUMERIC, BigInt],
  [pg.types.builtins.DATE, String],
  [pg.types.builtins.BYTEA, parseBytes],
]);

function getTypeParser(oid: number, format: 'text' | 'binary' = 'text') {
  const parser = format === 'text' ? PARSERS.get(oid) : undefined;
  return parser ?? pg.types.getTypeParser(oid, format);
}

function parseBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice('\\x'.length), 'hex'));
}
