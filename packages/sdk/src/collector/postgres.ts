import { createSqlStore, type SqlQuery, type SqlRow, type SqlStoreOptions } from './sql-store.ts';
import type { CollectorStore } from './store.ts';

/** The part of a pool of the package `pg` that the store uses. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly SqlRow[] }>;
  connect(): Promise<PostgresClient>;
}

/** The part of a client of the package `pg` that the store uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly SqlRow[] }>;
  /** With an error, the connection is closed instead of returned. */
  release(error?: Error): void;
}

/**
 * Opens a collector's store in PostgreSQL 12 or later. The role needs the right to create tables at the first start, and again
 * at the first start after an update from 0.2, which lacks the table with the project. Several projects in one database need
 * a `tablePrefix` each. `close` leaves the pool open, because it is yours.
 * @param pool of the package `pg`, or what has its functions.
 *
 * @example
 * const store = await openPostgresStore(new pg.Pool({ connectionString }));
 */
export function openPostgresStore(pool: PostgresPool, options: SqlStoreOptions = {}): Promise<CollectorStore> {
  const queryOf =
    (connection: Pick<PostgresPool, 'query'>): SqlQuery =>
    async (text, values = []) =>
      (await connection.query(text, [...values])).rows;
  const sql = {
    query: queryOf(pool),
    transaction: async <T>(work: (query: SqlQuery) => Promise<T>): Promise<T> => {
      const client = await pool.connect();
      let failure: Error | undefined;
      try {
        await client.query('begin');
        const result = await work(queryOf(client));
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch((cause: Error) => {
          // The connection is lost, and with it the transaction.
          failure = cause;
        });
        throw error;
      } finally {
        client.release(failure);
      }
    },
    sequenceType: 'bigint generated always as identity primary key',
    nowMs: 'cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)',
    jsonRows: 'jsonb_array_elements(cast($1 as jsonb)) as j(value)',
    lockTables: `select pg_advisory_xact_lock(hashtext('flywheel collector'))`,
    findTable: 'select 1 where to_regclass(cast($1 as text)) is not null',
    close: async () => undefined,
  };
  return createSqlStore(sql, options);
}
