import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { closeDb, type Db, openDb } from './store/db.ts';
import { migrate } from './store/migrate.ts';
import { type LostDatabase, removePostgres, startPostgres } from './store/postgres.ts';

export interface Database {
  readonly db: Db;
  readonly poolConfig: pg.PoolConfig;
  /** Migrations that this start applied, in order. */
  readonly applied: readonly string[];
  /** Resolves if the embedded database ends while it is open; never otherwise. */
  readonly lost: Promise<LostDatabase>;
  close(): Promise<void>;
}

/** Opens the configured database, or the embedded one, and migrates it. */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  const embedded =
    config.databaseUrl === null ? await startPostgres({ dataDirectory: config.dataDirectory, log }) : null;
  const poolConfig = embedded?.poolConfig ?? { connectionString: config.databaseUrl ?? '' };
  const db = openDb(poolConfig, log);
  const close = async () => {
    await closeDb(db);
    await embedded?.stop();
  };
  try {
    const lost = embedded?.lost ?? new Promise<never>(() => undefined);
    return { db, poolConfig, applied: await migrate(db), lost, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Deletes the embedded database of a data directory. No process may be using it. */
export function removeDatabase(dataDirectory: string): Promise<void> {
  return removePostgres(dataDirectory);
}
