import { createSqlStore, type SqlQuery, type SqlRow, type SqlStoreOptions } from './sql-store.ts';
import type { CollectorStore } from './store.ts';

/** The part of node:sqlite that the store uses. This package is compiled without the types of Node. */
interface SqliteModule {
  readonly DatabaseSync: new (
    path: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): { all(...values: readonly (string | number)[]): readonly SqlRow[] };
    close(): void;
  };
}

/**
 * Opens a collector's store in a SQLite file, through `node:sqlite`: Node 22.13 or later. Every step is on disk before it
 * counts (`synchronous = full`). The file must be on a local disk, because SQLite's locks do not work on network shares.
 * @param path created if it is missing.
 *
 * @example
 * const store = await openSqliteStore('payments.db');
 */
export async function openSqliteStore(path: string, options: SqlStoreOptions = {}): Promise<CollectorStore> {
  const { DatabaseSync } = findSqlite();
  const database = new DatabaseSync(path);
  // The app may have the file open in two processes during a deployment.
  database.exec('pragma busy_timeout = 10000; pragma journal_mode = wal; pragma synchronous = full;');

  const query: SqlQuery = async (text, values = []) =>
    database.prepare(text.replaceAll(/\$(\d)/g, '?$1')).all(...values);
  let last: Promise<unknown> = Promise.resolve();
  // There is one connection: whatever ran between two statements of a transaction would belong to it.
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  }
  async function transact<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> {
    database.exec('begin immediate');
    try {
      const result = await work(query);
      database.exec('commit');
      return result;
    } catch (error) {
      try {
        database.exec('rollback');
      } catch {
        // On a full disk SQLite rolls back by itself, and refuses a second rollback (sqlite.org/lang_transaction.html, 3.1).
      }
      throw error;
    }
  }
  const sql = {
    query: (...statement: Parameters<SqlQuery>) => inTurn(() => query(...statement)),
    transaction: <T>(work: (query: SqlQuery) => Promise<T>) => inTurn(() => transact(work)),
    sequenceType: 'integer primary key autoincrement',
    nowMs: `cast(unixepoch('subsec') * 1000 as integer)`,
    jsonRows: 'json_each($1) as j',
    findTable: `select 1 from sqlite_master where type = 'table' and name = $1`,
    close: () => inTurn(async () => database.close()),
  };
  return createSqlStore(sql, options);
}

interface NodeGlobals {
  readonly process?: { getBuiltinModule?(name: 'node:sqlite'): SqliteModule | undefined };
}

/** Found when it is used: the rest of the package also runs where there is no node:sqlite, and where nothing is Node. */
function findSqlite(): SqliteModule {
  // Where the function exists, it answers Node's own module or nothing (nodejs.org/api/process.html).
  const found = (globalThis as NodeGlobals).process?.getBuiltinModule?.('node:sqlite');
  if (found) return found;
  throw new Error(
    'openSqliteStore needs node:sqlite, which Node has from 22.13. Update Node, or use openPostgresStore.',
  );
}
