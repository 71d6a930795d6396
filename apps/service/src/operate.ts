import { parseDatabaseConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { createLog } from './log.ts';
import { findJobs, type JobRecord, retryJob } from './store/jobs/job-records.ts';

/** What an operator does beside the running processes, over the same database. */
export interface Operations {
  /** Oldest first; those that ended well within the last day only `withCompleted`. */
  listJobs(options: { readonly withCompleted: boolean }): Promise<JobRecord[]>;
  /** False when there is nothing to retry: it runs, has ended well, or does not exist. */
  retryJob(id: string): Promise<boolean>;
}

/**
 * Opens the database that the environment names, or the embedded one of the data directory, for as long as it is used.
 * @throws ConfigError, a sentence per fault.
 */
export async function operate<T>(
  environment: Readonly<Record<string, string | undefined>>,
  use: (operations: Operations) => Promise<T>,
): Promise<T> {
  const config = parseDatabaseConfig({ LOG_LEVEL: 'error', ...environment });
  const { db, close } = await openDatabase(config, createLog(config.logLevel));
  try {
    return await use({ listJobs: (options) => findJobs(db, options), retryJob: (id) => retryJob(db, id) });
  } finally {
    await close();
  }
}
