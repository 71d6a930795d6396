import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { MAX_NAMES } from './statement-names.ts';

/** A pooler like PgBouncer, which answers in front of PostgreSQL. */
export interface Pooler {
  /** True if a client has a session of PostgreSQL to itself, as in session mode; false if it has one for a transaction. */
  readonly keepsSessions: boolean;
  /**
   * True if a statement that a client has prepared can be used in each of its transactions: in PgBouncer since 1.21, with
   * `max_prepared_statements` above 0.
   */
  readonly keepsStatements: boolean;
  /** True if PostgreSQL itself limits statements and idle transactions of this login. */
  readonly hasTimeouts: boolean;
}

/** An issue with the connection to the database, and its remedy; both are sentences. */
export interface PoolerIssue {
  /** True if no process starts with it. */
  readonly isFatal: boolean;
  readonly text: string;
  readonly remedy: string;
}

export interface PoolerDiagnostics {
  readonly isPooled: boolean;
  readonly issues: readonly PoolerIssue[];
}

/**
 * Finds out if a pooler answers DATABASE_URL, and what is wrong with it and with DATABASE_DIRECT_URL, if that is set.
 * @throws Error if one of them does not answer.
 */
export async function diagnosePooler(databaseUrl: string, directUrl: string | null): Promise<PoolerDiagnostics> {
  const poolConfig = { connectionString: databaseUrl };
  const sessionConfig = directUrl === null ? null : { connectionString: directUrl };
  const pooler = await findPooler(poolConfig);
  const issues = findPoolerIssues(pooler, sessionConfig === null ? undefined : await findPooler(sessionConfig));
  if (sessionConfig !== null && !(await isSameDatabase(poolConfig, sessionConfig))) {
    const remedy = 'Let both name one database of one server.';
    issues.push({ isFatal: true, text: DIFFERENT_DATABASES, remedy });
  }
  if (pooler !== null) issues.push(...(await findForgetting(poolConfig, pooler)));
  return { isPooled: pooler !== null, issues };
}

/**
 * Finds out if a pooler answers at an address; null if PostgreSQL does. A pooler names a process of its own in the key with
 * which a query can be cancelled, and renames the statements that it keeps.
 * @throws Error if the address does not answer.
 */
export async function findPooler(config: pg.PoolConfig): Promise<Pooler | null> {
  const found = await inTransactionOf(config, async (client) => {
    const name = `flywheel_${randomUUID()}`;
    const text = `select pg_backend_pid() as pid, 0 not in (${TIMEOUTS.map(millisecondsOf)}) as "hasTimeouts"`;
    const { rows } = await client.query<{ pid: number; hasTimeouts: boolean }>({ name, text });
    const [found] = rows;
    if (!found || found.pid === client.processID) return null;
    const isPassedOn =
      (await client.query('select from pg_prepared_statements where name = $1', [name])).rowCount === 1;
    // It would stay in the server's connection, which other clients use too.
    if (isPassedOn) await client.query(`deallocate "${name}"`);
    return { isPassedOn, hasTimeouts: found.hasTimeouts };
  });
  if (found === null) return null;
  const { isPassedOn, hasTimeouts } = found;
  const keepsSessions = await hasOwnSessions(config);
  return { keepsSessions, keepsStatements: keepsSessions || !isPassedOn, hasTimeouts };
}

/** A pooler may lend its connections in turn, or lend them to others meanwhile: some attempts show that they are lent. */
const LOANS = 10;

/**
 * Finds out if two clients of a pooler that are connected at the same time have a process of the server each, which
 * stays the same. Between the transactions of one client, a pooler in transaction mode gives its process to the other.
 */
async function hasOwnSessions(config: pg.PoolConfig): Promise<boolean> {
  const clients = [createClient(config), createClient(config)] as const;
  const [one, other] = clients;
  try {
    for (const client of clients) await client.connect();
    const [ofOne, ofOther] = [await readProcess(one), await readProcess(other)];
    if (ofOne === ofOther) return false;
    for (let i = 0; i < LOANS; i += 1) {
      // Twice in a row: a pooler that lends two connections in turn would give clients that take turns the same one each time.
      if ((await readProcess(one)) !== ofOne || (await readProcess(one)) !== ofOne) return false;
      if ((await readProcess(other)) !== ofOther || (await readProcess(other)) !== ofOther) return false;
    }
    return true;
  } finally {
    for (const client of clients) await client.end();
  }
}

async function readProcess(client: pg.Client): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
}

/**
 * Lists the issues of a way to the database.
 * @param direct what answers DATABASE_DIRECT_URL: a pooler, null for PostgreSQL; undefined if it is not set.
 */
export function findPoolerIssues(pooler: Pooler | null, direct: Pooler | null | undefined): PoolerIssue[] {
  const issues: PoolerIssue[] = [];
  if (direct?.keepsSessions === false) {
    const text =
      'A pooler in transaction mode answers DATABASE_DIRECT_URL, too, and loses the notifications and locks of a session.';
    const remedy = 'Let DATABASE_DIRECT_URL name PostgreSQL itself, or a pool in session mode.';
    issues.push({ isFatal: true, text, remedy });
  }
  if (pooler === null) return issues;
  if (direct === undefined && !pooler.keepsSessions) {
    const text =
      'A pooler in transaction mode answers DATABASE_URL, and loses the notifications and locks of a session; DATABASE_DIRECT_URL is not set.';
    issues.push({ isFatal: true, text, remedy: 'Set DATABASE_DIRECT_URL to PostgreSQL itself.' });
  }
  if (!pooler.hasTimeouts) {
    const text = `The login of DATABASE_URL has no ${TIMEOUTS.join(' or no ')}, and a pooler takes none from this service: a query that hangs keeps its connection.`;
    issues.push({ isFatal: false, text, remedy: 'Set both on the login: docs/operating.md, Behind a pooler.' });
  }
  return issues;
}

/** Finds out if the pooler forgets prepared statements: it keeps none, or fewer than the service prepares. */
export async function findForgetting(config: pg.PoolConfig, { keepsStatements }: Pooler): Promise<PoolerIssue[]> {
  const remedy = `Use PgBouncer 1.21 or later with max_prepared_statements above ${MAX_NAMES}.`;
  if (!keepsStatements) {
    const text = 'The pooler keeps no prepared statements: PostgreSQL plans each query each time.';
    return [{ isFatal: false, text, remedy }];
  }
  const kept = await countKeptStatements(config);
  if (kept > MAX_NAMES) return [];
  const text = `The pooler keeps ${kept} prepared statements; the service has up to ${MAX_NAMES}, so some are planned again and again.`;
  return [{ isFatal: false, text, remedy }];
}

/** Counts how many statements a connection behind the pooler keeps, of one more than the service prepares. */
function countKeptStatements(config: pg.PoolConfig): Promise<number> {
  return inTransactionOf(config, async (client) => {
    const own = Array.from({ length: MAX_NAMES + 1 }, (_, i) => `select 'flywheel doctor ${i}' as probe`);
    for (const [i, text] of own.entries()) await client.query({ name: `flywheel_doctor_${i}`, text });
    const kept = 'select from pg_prepared_statements where statement = any($1)';
    return (await client.query(kept, [own])).rowCount ?? 0;
  });
}

export const DIFFERENT_DATABASES = 'DATABASE_URL and DATABASE_DIRECT_URL lead to different databases.';

/** Returns true if two addresses lead to one database of one running server. */
export async function isSameDatabase(one: pg.PoolConfig, other: pg.PoolConfig): Promise<boolean> {
  const [first, second] = await Promise.all([readIdentity(one), readIdentity(other)]);
  return first === second;
}

function readIdentity(config: pg.PoolConfig): Promise<string | undefined> {
  return inTransactionOf(config, async (client) => {
    const text = `select oid || ' ' || extract(epoch from pg_postmaster_start_time()) as identity
      from pg_database where datname = current_database()`;
    const { rows } = await client.query<{ identity: string }>(text);
    return rows[0]?.identity;
  });
}

/** Settings of PostgreSQL that a client requests at the start of a connection, which poolers in transaction mode refuse. */
const TIMEOUTS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;

function millisecondsOf(setting: string): string {
  return `(select setting::int from pg_settings where name = '${setting}')`;
}

const CONNECTION_TIMEOUT_MS = 10_000;
/** A pooler accepts clients for whom it has no connection to the server. */
const QUERY_TIMEOUT_MS = 10_000;

function createClient(config: pg.PoolConfig): pg.Client {
  const timeouts = { connectionTimeoutMillis: CONNECTION_TIMEOUT_MS, query_timeout: QUERY_TIMEOUT_MS };
  const client = new pg.Client({ ...config, ...timeouts });
  // A connection that breaks fails its queries.
  client.on('error', () => undefined);
  return client;
}

/** A pooler in transaction mode keeps the same server connection for a transaction. */
async function inTransactionOf<T>(config: pg.PoolConfig, work: (client: Probe) => Promise<T>): Promise<T> {
  const client: Probe = createClient(config);
  try {
    await client.connect();
    await client.query('begin');
    const result = await work(client);
    await client.query('rollback');
    return result;
  } finally {
    await client.end();
  }
}

/** The driver's types leave out the process of the server's first answer (pg 8.23, `lib/client.js`). */
type Probe = pg.Client & { readonly processID?: number | null };
