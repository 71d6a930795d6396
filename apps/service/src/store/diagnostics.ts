import { MAX_MULTIPLE_ACCOUNTS } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { findWaitingRotations } from './batches/rotations.ts';
import type { Db } from './db.ts';
import { findJobs, type JobRecord } from './jobs/job-records.ts';
import { compareMigrations } from './migrate.ts';
import type { NonceState } from './nonces.ts';
import { readPartitionsAhead } from './partitions.ts';
import { findRightsIssues, mayMigrate, type RoleNames } from './roles.ts';

/** The state of a database, read without changing it. */
export interface DatabaseDiagnostics {
  /** PostgreSQL's version, e.g. `18.1`. */
  readonly version: string;
  /** How far this machine's clock is ahead of the database's; negative if it is behind. */
  readonly clockAheadMs: number;
  /** Migrations of this release that were not applied yet. */
  readonly pendingMigrations: readonly string[];
  /** Applied migrations that this release does not have: a newer release applied them. */
  readonly unknownMigrations: readonly string[];
  /** True if this release does not work with what the newer one has applied. */
  readonly isSchemaTooNew: boolean;
  /** null while migrations are pending, and if a newer release has granted the rights. */
  readonly rights: RightsDiagnostics | null;
  /** null while migrations are pending. */
  readonly service: ServiceDiagnostics | null;
}

/** Which rights the processes have in the database. */
export interface RightsDiagnostics {
  readonly login: string;
  /** True if the login may change the schema, and write every row. */
  readonly isOwner: boolean;
  /** How the rights of the configured roles differ from those of this release, as sentences. */
  readonly issues: readonly string[];
}

export interface ServiceDiagnostics {
  /** `operator` is null for those of an earlier release that no worker has seen since. */
  readonly nonces: readonly { readonly operator: Address | null; readonly state: NonceState; readonly count: number }[];
  /** Free nonces, 100 at most: their accounts are confirmed on the cluster. `operator` as above. */
  readonly freeNonces: readonly { readonly operator: Address | null; readonly address: Address }[];
  readonly jobs: readonly JobRecord[];
  /** Seconds for which events and deliveries have partitions; a worker adds them months ahead. */
  readonly partitionsAheadSeconds: number;
  /** Seconds since a worker was last active. Workers supervise the queue every five seconds. null if there was none. */
  readonly workerSeenSecondsAgo: number | null;
  /** The operators and company approvers that projects' multisigs have as members, with the number of projects. */
  readonly members: readonly { readonly operator: Address; readonly company: Address; readonly projects: number }[];
  /** Rotations that both sides have approved, and what holds each up as a sentence. Oldest first. */
  readonly waitingRotations: readonly { readonly batchId: string; readonly message: string }[];
}

/** Reads the diagnostics of a database. @throws Error if the database does not answer. */
export async function readDatabaseDiagnostics(db: Db, roles: RoleNames): Promise<DatabaseDiagnostics> {
  const { rows } = await sql<{ version: string; login: string; hasQueue: boolean }>`
    select current_setting('server_version') as version, current_user as login,
      to_regclass('jobs.queue') is not null as "hasQueue"
  `.execute(db);
  const [found] = rows;
  if (!found) throw new Error('The database answered no row.');
  const { pending: pendingMigrations, unknown: unknownMigrations, isTooNew } = await compareMigrations(db);
  const isComplete = pendingMigrations.length === 0 && found.hasQueue;
  return {
    // Distributions append text to the number.
    version: found.version.split(' ', 1)[0] ?? found.version,
    clockAheadMs: await compareClocks(db),
    pendingMigrations,
    unknownMigrations,
    isSchemaTooNew: isTooNew,
    rights:
      isComplete && unknownMigrations.length === 0
        ? { login: found.login, isOwner: await mayMigrate(db), issues: await findRightsIssues(db, roles) }
        : null,
    service: isComplete ? await readServiceDiagnostics(db) : null,
  };
}

/** Compares the clocks in the middle of a short query, on a connection that is already open. */
async function compareClocks(db: Db): Promise<number> {
  const askedMs = Date.now();
  const { rows } = await sql<{ ms: number }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(
    db,
  );
  return (askedMs + Date.now()) / 2 - (rows[0]?.ms ?? Number.NaN);
}

async function readServiceDiagnostics(db: Db): Promise<ServiceDiagnostics> {
  const [nonces, freeNonces, jobs, partitionsAheadSeconds, workerSeenSecondsAgo, members, waitingRotations] =
    await Promise.all([
      readNonces(db),
      readFreeNonces(db),
      findJobs(db, { withCompleted: false, withScheduled: false }),
      readPartitionsAhead(db),
      readWorkerSeen(db),
      readMembers(db),
      findWaitingRotations(db),
    ]);
  return { nonces, freeNonces, jobs, partitionsAheadSeconds, workerSeenSecondsAgo, members, waitingRotations };
}

async function readNonces(db: Db): Promise<ServiceDiagnostics['nonces']> {
  const rows = await db
    .selectFrom('nonces')
    .select((eb) => ['authority as operator', 'state', eb.fn.countAll<bigint>().as('count')])
    .groupBy(['authority', 'state'])
    .execute();
  return rows.map(({ operator, state, count }) => ({ operator, state, count: Number(count) }));
}

async function readFreeNonces(db: Db): Promise<ServiceDiagnostics['freeNonces']> {
  return (
    db
      .selectFrom('nonces')
      .select(['authority as operator', 'address'])
      .where('state', '=', 'available')
      .orderBy('address')
      // One call reads them on chain.
      .limit(MAX_MULTIPLE_ACCOUNTS)
      .execute()
  );
}

/** Only workers supervise the queue (pg-boss, `supervise`), which stores when they did; a job at work also shows one. */
async function readWorkerSeen(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from now() - greatest(
      (select max(monitor_on) from jobs.queue),
      (select max(greatest(started_on, heartbeat_on, completed_on)) from jobs.job where state in ('active', 'completed'))
    ))::float8 as seconds
  `.execute(db);
  return rows[0]?.seconds ?? null;
}

async function readMembers(db: Db): Promise<ServiceDiagnostics['members']> {
  const rows = await db
    .selectFrom('flywheels')
    .select((eb) => ['operator', 'company', eb.fn.countAll<bigint>().as('projects')])
    .where('archived_at', 'is', null)
    .groupBy(['operator', 'company'])
    .orderBy('projects', 'desc')
    .execute();
  return rows.map(({ operator, company, projects }) => ({ operator, company, projects: Number(projects) }));
}
