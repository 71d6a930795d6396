import pg from 'pg';

/** The database gave no answer, or said that it cannot serve now. What was asked of it may have happened. */
class DatabaseUnavailable extends Error {}

/** Returns true if an error, or its cause, says that the database is out of reach, restarts or gives way to another one. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof DatabaseUnavailable) return true;
  }
  return false;
}

/** Returns true if an error, or its cause, is the database's: it is out of reach, or it has refused a statement. */
export function isDatabaseError(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof DatabaseUnavailable || each instanceof pg.DatabaseError) return true;
  }
  return false;
}

/** Rethrows what the driver throws, as DatabaseUnavailable if the database has not decided about the statement. */
export function orUnavailable(cause: unknown): never {
  if (!(cause instanceof Error) || !mayPass(cause)) throw cause;
  throw new DatabaseUnavailable(`The database is unavailable: ${cause.message}`, { cause });
}

/** The driver throws a TypeError or a RangeError for a value that it cannot send, and otherwise for a connection. */
function mayPass(error: Error): boolean {
  if (error instanceof pg.DatabaseError) return CODES.test(error.code ?? '');
  return !(error instanceof TypeError || error instanceof RangeError);
}

/**
 * PostgreSQL, "Error Codes": a connection that fails, also between a pooler and the server; too many connections; a
 * server that ends or starts; and one that has become a standby, which refuses to write.
 */
const CODES = /^(?:08...|53300|57P0[1-3]|25006)$/;
