import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { closeDb, type Db, openDb } from './store/db.ts';
import type { DatabaseRole } from './store/grants.ts';
import { installJobs } from './store/jobs/jobs.ts';
import { migrate, requireMigrated } from './store/migrate.ts';
import { type LostDatabase, removePostgres, startPostgres } from './store/postgres.ts';
import { mayMigrate, prepareRole, provideRoles, takeOnRole } from './store/roles.ts';

/** Connections with the rights of a login or of a role. */
export interface Connections {
  readonly db: Db;
  readonly poolConfig: pg.PoolConfig;
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
 * rights; any other only checks that the schema is this release's.
 */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  const embedded =
    config.databaseUrl === null ? await startPostgres({ dataDirectory: config.dataDirectory, log }) : null;
  const poolConfig = embedded?.poolConfig ?? { connectionString: config.databaseUrl ?? '' };
  const db = openDb(poolConfig, log);
  const opened: Db[] = [db];
  const close = async () => {
    await Promise.all(opened.map(closeDb));
    await embedded?.stop();
  };
  try {
    const lost = embedded?.lost ?? new Promise<never>(() => undefined);
    const applied = await prepare(config, { db, poolConfig }, log);
    const as = async (role: DatabaseRole) => {
      const name = config.databaseRoles[role];
      if (name === null) return { db, poolConfig };
      await prepareRole(db, name);
      const limited = takeOnRole(poolConfig, name);
      const limitedDb = openDb(limited, log);
      opened.push(limitedDb);
      return { db: limitedDb, poolConfig: limited };
    };
    return { db, poolConfig, applied, lost, as, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepare({ databaseRoles }: Config, { db, poolConfig }: Connections, log: Logger): Promise<string[]> {
  if (!(await mayMigrate(db))) {
    await requireMigrated(db);
    return [];
  }
  const applied = await migrate(db);
  await installJobs({ poolConfig, log });
  await provideRoles(db, databaseRoles);
  return applied;
}

/** Deletes the embedded database of a data directory. No process may be using it. */
export function removeDatabase(dataDirectory: string): Promise<void> {
  return removePostgres(dataDirectory);
}
