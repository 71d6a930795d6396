import type { Address } from '@solana/kit';
import { systemClock } from './clock.ts';
import { type Recovery, recoverOperator } from './company/recover-operator.ts';
import { type Config, ConfigError, parseConfig, parseDatabaseConfig } from './config.ts';
import { type Database, openDatabase, probeDatabase } from './database.ts';
import { createLog } from './log.ts';
import { abandonMove, type MoveOptions, type MoveStep, moveProject } from './projects/move-project.ts';
import { createChain } from './solana/chain.ts';
import type { Db } from './store/db.ts';
import { findJobs, type JobRecord, retryJob } from './store/jobs/job-records.ts';
import { startJobs } from './store/jobs/jobs.ts';
import { createMetrics } from './telemetry/metrics.ts';

/** Operations for administrators. They use the database of the running processes. */
export interface Admin {
  /** Lists jobs, oldest first. `withCompleted` includes jobs completed within the last day. */
  listJobs(options: { readonly withCompleted: boolean }): Promise<JobRecord[]>;
  /** Starts a job now; false if it is running, has completed or does not exist. */
  retryJob(id: string): Promise<boolean>;
  /**
   * Lets the recovery keys act for an operator whose key is lost. Needs the cluster, SOLANA_RPC_URL.
   * @throws ConfigError without a cluster.
   */
  recoverOperator(lost: Address): Promise<Recovery>;
  /**
   * Moves a project to the shard whose database DESTINATION_DATABASE_URL names, or continues such a move.
   * @throws ConfigError without that variable, or if it leads through a pooler in transaction mode; MoveRefused if it
   * cannot move now.
   */
  moveProject(projectId: string, ...how: HowToMove): Promise<{ readonly moveId: string }>;
  /**
   * Removes from that shard what a move has copied ahead; the project stays where it is.
   * @throws ConfigError like `moveProject`; MoveRefused if the project has left.
   */
  abandonMove(projectId: string): Promise<void>;
}

type HowToMove = [onStep: (step: MoveStep) => Promise<void>, options: MoveOptions];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens the database that the environment names, or the embedded one of the data directory, until `use` returns.
 * @throws ConfigError with one sentence per invalid setting; if there is no such database.
 */
export async function withAdmin<T>(environment: Environment, use: (admin: Admin) => Promise<T>): Promise<T> {
  const config = parseDatabaseConfig({ LOG_LEVEL: 'error', ...environment });
  const database = await openDatabase(config, createLog(config.logLevel));
  const { db, close } = database;
  try {
    return await use({
      listJobs: (options) => findJobs(db, options),
      retryJob: (id) => retryJob(db, id),
      recoverOperator: (lost) => recoverOn(database, parseConfig({ LOG_LEVEL: 'error', ...environment }), lost),
      moveProject: (projectId, ...how) =>
        withDestination(environment, (to) => moveProject({ from: db, to, clock: systemClock }, projectId, ...how)),
      abandonMove: (projectId) => withDestination(environment, (to) => abandonMove({ from: db, to }, projectId)),
    });
  } finally {
    await close();
  }
}

async function recoverOn(
  { db, poolConfig, sessionConfig }: Database,
  { solanaRpcUrls: rpcUrls, logLevel }: Config,
  lost: Address,
): Promise<Recovery> {
  if (rpcUrls === null)
    throw new ConfigError(['SOLANA_RPC_URL is not set: the members of each multisig are read there.']);
  const log = createLog(logLevel);
  const jobs = await startJobs({ poolConfig, sessionConfig, log, metrics: createMetrics() });
  try {
    return await recoverOperator(
      { db, jobs, clock: systemClock, chain: createChain({ rpcUrls, clock: systemClock, log }) },
      lost,
    );
  } finally {
    await jobs.stop();
  }
}

async function withDestination<T>(
  { DESTINATION_DATABASE_URL, ...environment }: Environment,
  use: (to: Db) => Promise<T>,
): Promise<T> {
  if (!DESTINATION_DATABASE_URL) {
    throw new ConfigError(['DESTINATION_DATABASE_URL is not set: it names the database of the shard to move to.']);
  }
  const connection = { connectionString: DESTINATION_DATABASE_URL };
  if ((await probeDatabase('DESTINATION_DATABASE_URL', connection))?.keepsSessions === false) {
    const text = 'A pooler in transaction mode answers DESTINATION_DATABASE_URL, and loses the locks of a session.';
    throw new ConfigError([`${text} Let it name PostgreSQL itself, or a pool in session mode.`]);
  }
  const variables = { ...environment, DATABASE_URL: DESTINATION_DATABASE_URL, DATABASE_DIRECT_URL: undefined };
  const config = parseDatabaseConfig({ LOG_LEVEL: 'error', ...variables });
  const { db, close } = await openDatabase(config, createLog(config.logLevel));
  try {
    return await use(db);
  } finally {
    await close();
  }
}
