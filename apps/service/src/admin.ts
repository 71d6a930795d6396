import { parseDatabaseConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { createLog } from './log.ts';
import { findJobs, type JobRecord, retryJob } from './store/jobs/job-records.ts';

/** Operations for administrators. They use the database of the running processes. */
export interface Admin {
  /** Lists jobs, oldest first. `withCompleted` includes jobs completed within the last day. */
  listJobs(options: { readonly withCompleted: boolean }): Promise<JobRecord[]>;
  /** Starts a job now; false if it is running, has completed or does not exist. */
  retryJob(id: string): Promise<boolean>;
}

/**
 * Opens the database that the environment names, or the embedded one of the data directory, until `use` returns.
 * @throws ConfigError with one sentence per invalid setting.
 */
export async function withAdmin<T>(
  environment: Readonly<Record<string, string | undefined>>,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const config = parseDatabaseConfig({ LOG_LEVEL: 'error', ...environment });
  const { db, close } = await openDatabase(config, createLog(config.logLevel));
  try {
    return await use({ listJobs: (options) => findJobs(db, options), retryJob: (id) => retryJob(db, id) });
  } finally {
    await close();
  }
}
