import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from './db.ts';
import { findJobs, type JobRecord } from './jobs/job-records.ts';
import type { NonceState } from './landing/nonces.ts';
import { MIGRATIONS } from './migrate.ts';
import { readServiceState } from './service-state.ts';

/** How a database stands, read without changing anything. */
export interface DatabaseFindings {
  /** PostgreSQL’s own, e.g. `18.1`. */
  readonly version: string;
  /** Of ours, not applied yet. */
  readonly pendingMigrations: readonly string[];
  /** Applied by a newer release: not ours. */
  readonly unknownMigrations: readonly string[];
  /** null until every migration of ours is applied. */
  readonly service: ServiceFindings | null;
}

export interface ServiceFindings {
  readonly nonces: readonly { readonly state: NonceState; readonly count: number }[];
  readonly jobs: readonly JobRecord[];
  /** How long ago a worker was last seen: it looks after the queue every five seconds. null: never. */
  readonly workerSeenSecondsAgo: number | null;
  /** Whom the multisigs of the projects know, and how many of them. */
  readonly members: readonly { readonly operator: Address; readonly company: Address; readonly projects: number }[];
}

/** @throws Error when the database does not answer. */
export async function examineDatabase(db: Db, now: Date): Promise<DatabaseFindings> {
  const { rows } = await sql<{ version: string; hasMigrations: boolean; hasQueue: boolean }>`
    select current_setting('server_version') as version,
      to_regclass('kysely_migration') is not null as "hasMigrations",
      to_regclass('jobs.queue') is not null as "hasQueue"
  `.execute(db);
  const [found] = rows;
  if (!found) throw new Error('The database answered nothing to what it is.');
  const applied = new Set(found.hasMigrations ? await readApplied(db) : []);
  const pendingMigrations = Object.keys(MIGRATIONS).filter((name) => !applied.has(name));
  return {
    // Distributions add their own words after the number.
    version: found.version.split(' ', 1)[0] ?? found.version,
    pendingMigrations,
    unknownMigrations: [...applied].filter((name) => !Object.hasOwn(MIGRATIONS, name)),
    service: pendingMigrations.length === 0 && found.hasQueue ? await examineService(db, now) : null,
  };
}

async function readApplied(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

async function examineService(db: Db, now: Date): Promise<ServiceFindings> {
  const [{ nonces }, jobs, workerSeenSecondsAgo, members] = await Promise.all([
    readServiceState(db, now),
    findJobs(db, { withCompleted: false, withScheduled: false }),
    readWorkerSeen(db),
    readMembers(db),
  ]);
  return { nonces, jobs, workerSeenSecondsAgo, members };
}

/** Only workers count what is queued (pg-boss, `supervise`), and the queue keeps when; or they are seen at work. */
async function readWorkerSeen(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from now() - greatest(
      (select max(monitor_on) from jobs.queue),
      (select max(greatest(started_on, heartbeat_on, completed_on)) from jobs.job where state in ('active', 'completed'))
    ))::float8 as seconds
  `.execute(db);
  return rows[0]?.seconds ?? null;
}

async function readMembers(db: Db): Promise<ServiceFindings['members']> {
  const rows = await db
    .selectFrom('flywheels')
    .select((eb) => ['operator', 'company', eb.fn.countAll<bigint>().as('projects')])
    .where('archived_at', 'is', null)
    .groupBy(['operator', 'company'])
    .orderBy('projects', 'desc')
    .execute();
  return rows.map(({ operator, company, projects }) => ({ operator, company, projects: Number(projects) }));
}
