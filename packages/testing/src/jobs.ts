import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { type Job, type Jobs, startJobs } from '@flywheel/service/internal/store/jobs/jobs.ts';
import { createMetrics } from '@flywheel/service/internal/telemetry/metrics.ts';
import { sql } from 'kysely';
import { waitUntil } from './batches.ts';
import { quietLog, type TestDatabase } from './postgres.ts';
import type { World } from './world.ts';

export type { Job, Jobs };

/** Opens the queue of a database, with counts and log lines that are discarded. */
export function startTestJobs({ poolConfig }: Pick<TestDatabase, 'poolConfig'>): Promise<Jobs> {
  return startJobs({ poolConfig, log: quietLog, metrics: createMetrics() });
}

/** Expires the heartbeats of jobs, as after ten seconds without a heartbeat of their process; workers may see it at once. */
export async function expireHeartbeats({ db }: World, jobIds: readonly string[]): Promise<void> {
  await sql`
    update jobs.job set heartbeat_on = heartbeat_on - interval '1 minute'
    where id = any(${jobIds}::uuid[]) and state = 'active'
  `.execute(db);
  await sql`update jobs.queue set monitor_claim_on = null, monitor_on = null`.execute(db);
}

/** Skips the queue's retry delays, but no expiries, until the signal: a failed or postponed job runs at once. */
export async function skipRetryDelays({ db }: World, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sql`
      update jobs.job set start_after = now()
      where state in ('created', 'retry') and start_after > now() and data->>'type' <> 'expire'
    `.execute(db);
    await sleep(500);
  }
}

/** Ends the postponement of a job at once. */
export async function makeDue({ db }: World, type: string, batchId: string): Promise<void> {
  await sql`
    update jobs.job set start_after = now()
    where state in ('created', 'retry') and data->>'type' = ${type} and data->>'batchId' = ${batchId}
  `.execute(db);
}

/** Counts the jobs of a type and a batch that are put off for half a minute or more. */
export async function countPutOff({ db }: World, type: string, batchId: string): Promise<number> {
  const { rows } = await sql`
    select from jobs.job
    where state in ('created', 'retry') and data->>'type' = ${type} and data->>'batchId' = ${batchId}
      and start_after > now() + interval '30 seconds'
  `.execute(db);
  return rows.length;
}

/** Counts the unfinished jobs of a type and a batch. */
export async function countOpenJobs(world: World, type: string, batchId: string): Promise<number> {
  return (await findJobIds(world, type, batchId)).length;
}

/** Lists the unfinished jobs of a type and a batch. */
export async function findJobIds({ db }: World, type: string, batchId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from jobs.job
    where state in ('created', 'retry', 'active') and data->>'type' = ${type} and data->>'batchId' = ${batchId}
    order by created_on
  `.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Lists the jobs that the queue still has to run. It omits expiries of ended batches and closings of closed ones, which
 * do nothing, and a refill that is abandoned because its process died while another one waited to be retried.
 */
export async function pendingJobs({ db }: World): Promise<readonly object[]> {
  const { rows } = await sql<object>`
    select data, state, start_after from jobs.job
    where state not in ('completed', 'cancelled') and not (state = 'failed' and data->>'type' = 'refill-nonces')
    and not (state = 'created' and exists (
      select from batches where id = (data->>'batchId')::uuid and (
        (data->>'type' = 'expire' and ended_at is not null) or (data->>'type' = 'close' and closed_at is not null)
      )
    ))
  `.execute(db);
  return rows;
}

/** States that a test can set for all jobs, as columns of the queue's own table. */
const CONDITIONS = {
  failed: sql`state = 'failed', completed_on = now()`,
  abandoned: sql`state = 'active', started_on = now(), heartbeat_on = now() - interval '5 minutes'`,
  failing: sql`state = 'retry', retry_count = 40`,
  unattended: sql`start_after = now() - interval '2 minutes'`,
  running: sql`state = 'active', started_on = now(), heartbeat_on = now()`,
  completed: sql`state = 'completed', completed_on = now()`,
} as const;

export async function setJobs(db: Db, condition: keyof typeof CONDITIONS, error?: string): Promise<void> {
  const output = error === undefined ? null : JSON.stringify({ message: error });
  await sql`update jobs.job set ${CONDITIONS[condition]}, output = ${output}::jsonb`.execute(db);
}

export async function clearJobs(db: Db): Promise<void> {
  await sql`truncate jobs.job`.execute(db);
}

/**
 * Lets a closing that has ended be one that has failed. Waits for a project without another job: its queue has one at a time, and
 * a failed one holds up the rest.
 */
export async function failClosing({ db }: Pick<World, 'db'>, message: string): Promise<void> {
  await waitUntil(
    'a project without jobs',
    async () => {
      const { numAffectedRows } = await sql`
        update jobs.job set state = 'failed', output = ${JSON.stringify({ message })}::jsonb where id = (
          select id from jobs.job as done where data->>'type' = 'close' and state = 'completed' and not exists (
            select from jobs.job as other
            where other.singleton_key = done.singleton_key and other.state in ('active', 'retry', 'failed')
          ) limit 1
        )
      `.execute(db);
      return numAffectedRows;
    },
    (count) => count === 1n,
  );
}
