import type pg from 'pg';
import type { Logger } from 'pino';
import { type Config, ConfigError } from './config.ts';
import { createDataDirectory, unreachableDatabase } from './start-errors.ts';
import { closeDb, type Db, openDb } from './store/db.ts';
import { installJobs } from './store/jobs/jobs.ts';
import { migrate, requireMigrated } from './store/migrate.ts';
import { addPartitions } from './store/partitions.ts';
import { DIFFERENT_DATABASES, findPooler, findPoolerIssues, isSameDatabase, type Pooler } from './store/pooler.ts';
import { hasPostgres, type LostDatabase, removePostgres, startPostgres } from './store/postgres.ts';
import type { DatabaseRole } from './store/rights.ts';
import { mayMigrate, prepareRole, provideRoles, requireRights, takeOnRole } from './store/roles.ts';

/** Connections with the rights of a login or of a role. */
export interface Connections {
  readonly db: Db;
  /** May lead through a pooler. */
  readonly poolConfig: pg.PoolConfig;
  /** Connects to PostgreSQL without a pooler in transaction mode: a connection keeps its session. */
  readonly sessionConfig: pg.PoolConfig;
}

/** The database, with the rights of the login of DATABASE_URL. */
export interface Database extends Connections {
  /** Migrations that this start applied, in order. */
  readonly applied: readonly string[];
  /** Resolves if the embedded database ends while it is open; never otherwise. */
  readonly lost: Promise<LostDatabase>;
  /** Opens connections with the rights of a role; with those of the login if the role is not configured. */
  as(role: DatabaseRole): Promise<Connections>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * Opens the configured database, or the embedded one. A login that owns the tables migrates them and grants the roles their
 * rights, unless a newer release has done so; any other only checks that this release works with the schema.
 * @param mayCreate true to create the embedded database if there is none.
 * @throws ConfigError if the database does not answer, or if there is none and it may not be created.
 */
export async function openDatabase(config: Config, log: Logger, mayCreate = false): Promise<Database> {
  if (config.databaseUrl === null) await (mayCreate ? createDataDirectory : requireEmbedded)(config.dataDirectory);
  const embedded =
    config.databaseUrl === null ? await startPostgres({ dataDirectory: config.dataDirectory, log }) : null;
  const poolConfig = embedded?.poolConfig ?? { connectionString: config.databaseUrl ?? '' };
  const way = embedded === null ? await findWay(config, poolConfig, log) : { sessionConfig: poolConfig, ...NO_POOLERS };
  const { sessionConfig, pooler, sessionPooler } = way;
  const db = openDb(poolConfig, log, pooler);
  const opened: Db[] = [db];
  const close = async () => {
    await Promise.all(opened.map(closeDb));
    await embedded?.stop();
  };
  try {
    const lost = embedded?.lost ?? new Promise<never>(() => undefined);
    const applied = await prepare(config, { db, poolConfig, sessionConfig, sessionPooler }, log);
    const as = async (role: DatabaseRole) => {
      const name = config.databaseRoles[role];
      if (name === null) return { db, poolConfig, sessionConfig };
      if (pooler !== null) {
        await requireRights(db, name);
        return { db, poolConfig, sessionConfig };
      }
      await prepareRole(db, name);
      const limited = takeOnRole(poolConfig, name);
      const limitedDb = openDb(limited, log);
      opened.push(limitedDb);
      return { db: limitedDb, poolConfig: limited, sessionConfig: takeOnRole(sessionConfig, name) };
    };
    return { db, poolConfig, sessionConfig, applied, lost, as, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws ConfigError if there is no embedded database: an empty one would hide that DATABASE_URL was forgotten. */
async function requireEmbedded(dataDirectory: string): Promise<void> {
  if (await hasPostgres(dataDirectory)) return;
  throw new ConfigError([
    `DATABASE_URL is not set, and there is no database in ${dataDirectory}. Set DATABASE_URL, or set FLYWHEEL_DATA_DIR to the data directory of flywheel start.`,
  ]);
}

interface Poolers {
  readonly pooler: Pooler | null;
  /** In session mode. */
  readonly sessionPooler: Pooler | null;
}

const NO_POOLERS: Poolers = { pooler: null, sessionPooler: null };

/**
 * Finds the way to the database that the environment names.
 * @throws ConfigError if the database does not answer, or a pooler leaves no way to a session; Error if DATABASE_URL and
 * DATABASE_DIRECT_URL lead to different ones.
 */
async function findWay(
  { databaseDirectUrl }: Config,
  poolConfig: pg.PoolConfig,
  log: Logger,
): Promise<Pick<Connections, 'sessionConfig'> & Poolers> {
  const pooler = await probeDatabase('DATABASE_URL', poolConfig);
  const sessionConfig = databaseDirectUrl === null ? poolConfig : { connectionString: databaseDirectUrl };
  const direct = databaseDirectUrl === null ? undefined : await probeDatabase('DATABASE_DIRECT_URL', sessionConfig);
  for (const { isFatal, text, remedy } of findPoolerIssues(pooler, direct)) {
    if (isFatal) throw new ConfigError([`${text} ${remedy}`]);
    log.warn(`${text} ${remedy}`);
  }
  if (direct !== undefined && !(await isSameDatabase(poolConfig, sessionConfig))) throw new Error(DIFFERENT_DATABASES);
  return { sessionConfig, pooler, sessionPooler: direct === undefined ? pooler : direct };
}

/**
 * Finds the pooler that answers the address of a variable; null if PostgreSQL does.
 * @throws ConfigError, which names the variable, if the address does not answer.
 */
export async function probeDatabase(name: string, config: pg.PoolConfig): Promise<Pooler | null> {
  try {
    return await findPooler(config);
  } catch (error) {
    throw unreachableDatabase(name, error);
  }
}

async function prepare(
  { databaseRoles }: Config,
  connections: Connections & Pick<Poolers, 'sessionPooler'>,
  log: Logger,
): Promise<string[]> {
  const { sessionConfig, poolConfig, sessionPooler } = connections;
  const db = sessionConfig === poolConfig ? connections.db : openDb(sessionConfig, log, sessionPooler);
  try {
    const isOwner = await mayMigrate(db);
    const applied = isOwner ? await migrate(db) : [];
    const unknown = await requireMigrated(db);
    if (unknown.length > 0) {
      log.warn({ unknown }, 'a newer release has migrated the database; this one works with it, and changes no schema');
    } else if (isOwner) {
      await addPartitions(db);
      await installJobs({ poolConfig: sessionConfig, log });
      await provideRoles(db, databaseRoles);
    }
    return applied;
  } finally {
    if (db !== connections.db) await closeDb(db);
  }
}

/** Deletes the embedded database of a data directory. No process may be using it. */
export function removeDatabase(dataDirectory: string): Promise<void> {
  return removePostgres(dataDirectory);
}
