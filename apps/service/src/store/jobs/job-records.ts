import type { BatchStatus } from '@flywheel/api';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../db.ts';
import type { Job } from './jobs.ts';
import { keyOf } from './lanes.ts';

/** A job in the queue, as administrators see it. */
export interface JobRecord {
  readonly id: string;
  readonly type: Job['type'];
  /** Null for jobs that concern no batch. */
  readonly batchId: string | null;
  /** Decimal. */
  readonly batchIndex: string | null;
  readonly batchStatus: BatchStatus | null;
  readonly projectId: string | null;
  readonly state: 'waiting' | 'running' | 'failed' | 'cancelled' | 'completed';
  /** Number of failed attempts. */
  readonly failedAttempts: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  /** Time from which it may run. */
  readonly dueAt: Date;
  /** Error of the last attempt. */
  readonly error: string | null;
  readonly problem: JobProblem | null;
}

/**
 * Why a job needs a person: it failed permanently and blocks its multisig; its worker is dead and no other took it
 * over; it fails repeatedly; or it is due, nothing is before it, and no worker takes it.
 */
export type JobProblem = 'failed' | 'abandoned' | 'failing' | 'unattended';

/**
 * Lists jobs, oldest first. `withCompleted` adds successful ones, which are kept for a day, and expiries of ended batches,
 * which will do nothing; `withScheduled` adds expiries that are not yet due, of which every open batch has one.
 */
export async function findJobs(
  db: Db,
  { withCompleted, withScheduled = true }: { readonly withCompleted: boolean; readonly withScheduled?: boolean },
): Promise<JobRecord[]> {
  const { rows } = await sql<JobRecord>`
    select
      j.id, j.data->>'type' as type, j.data->>'batchId' as "batchId", b.status as "batchStatus",
      b.batch_index::text as "batchIndex",
      b.project_id as "projectId",
      case j.state when 'created' then 'waiting' when 'retry' then 'waiting' when 'active' then 'running'
        else j.state::text end as state,
      j.retry_count as "failedAttempts", j.created_on as "createdAt", j.started_on as "startedAt",
      j.start_after as "dueAt", coalesce(j.output->>'message', j.output->'value'->>'message') as error,
      case
        when j.state in ('failed', 'cancelled') then 'failed'
        when j.state = 'active' and ${hasLapsed} then 'abandoned'
        when j.state = 'retry' and j.retry_count >= ${FAILING_ATTEMPTS} then 'failing'
        when j.state in ('created', 'retry') and j.start_after < now() - interval '1 minute' and not j.is_held_up
          then 'unattended'
      end as problem
    from (
      select j.*, ${isHeldUp} as is_held_up from jobs.job j where ${withCompleted} or j.state <> 'completed'
    ) j left join batches b on b.id = (j.data->>'batchId')::uuid
    where (${withCompleted} or (j.state <> 'completed' and not (${isScheduled} and b.ended_at is not null)))
      and (${withScheduled} or not ${isScheduled})
    order by j.created_on, j.id
  `.execute(db);
  return rows;
}

/** Reads the subject of a job; null if it does not exist. */
export async function findJobSubject(db: Db, id: string): Promise<Pick<JobRecord, 'batchId' | 'projectId'> | null> {
  const { rows } = await sql<Pick<JobRecord, 'batchId' | 'projectId'>>`
    select j.data->>'batchId' as "batchId", b.project_id as "projectId"
    from jobs.job j left join batches b on b.id = (j.data->>'batchId')::uuid
    where j.id = ${id}::uuid
  `.execute(db);
  return rows[0] ?? null;
}

/**
 * Runs a job at once: one that failed, whose worker is dead, or that waits for its time.
 * @returns false for a job that is running, has completed or does not exist, and for an expiry before its time, which
 * would end its batch. It is safe at any moment: every job first reads the chain, and a worker that lost its job writes
 * nothing.
 */
export async function retryJob(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update jobs.job j
    set state = case when j.state = 'created' then j.state else 'retry' end,
      start_after = now(), completed_on = null, retry_limit = greatest(retry_limit, retry_count + 1)
    where j.id = ${id}::uuid
      and (j.state in ('failed', 'cancelled', 'created', 'retry') or (j.state = 'active' and ${hasLapsed}))
      and not ${isScheduled}
  `.execute(db);
  return numAffectedRows === 1n;
}

const isScheduled: RawBuilder<boolean> = sql`
  (j.data->>'type' = 'expire' and j.state = 'created' and j.start_after > now())`;

/** Number of attempts that take minutes, with pauses of up to ten seconds. */
const FAILING_ATTEMPTS = 20;

/** Other workers take over after one heartbeat and a few seconds. */
const hasLapsed: RawBuilder<boolean> = sql`j.heartbeat_on + 3 * j.heartbeat_seconds * interval '1 second' < now()`;

/**
 * Another job of its key runs, has failed or is before it. A job that waits for its time, such as the expiry of the same batch,
 * holds up none behind it; one that waits to be retried does. Windows read each job once: a search for each would take
 * quadratic time when workers stand still.
 */
const isHeldUp: RawBuilder<boolean> = sql`(
  bool_or(j.state in ('active', 'failed')) over (partition by j.name, ${sql.raw(keyOf('j'))})
  or coalesce(bool_or(j.state = 'retry' or (j.state = 'created' and j.start_after <= now())) over (
    partition by j.name, ${sql.raw(keyOf('j'))} order by j.created_on, j.id rows between unbounded preceding and 1 preceding
  ), false)
)`;
