import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { utcDay } from '../model/clock.ts';
import type { ServiceState } from '../telemetry/metrics.ts';
import { openBatchWaitsForSql } from './batch-waits.ts';
import { readLamportsUse, readUnadmittedUse } from './batches/exposure.ts';
import type { Db } from './db.ts';
import { keyOf } from './jobs/lanes.ts';
import { NONCE_STATES, type NonceState } from './nonces.ts';
import { readPartitionsAhead } from './partitions.ts';
import { UNPAID_REGISTRATION_MS } from './projects/registrations.ts';
import { readDeliveryLag } from './webhooks/due-deliveries.ts';

interface State extends ServiceState {
  readonly nonces: readonly (ServiceState['nonces'][number] & { readonly state: NonceState })[];
}

/**
 * Reads the state that all processes share, with the nonces of this operator. All queries skip closed batches and completed
 * jobs.
 */
export async function readServiceState(
  db: Db,
  { operator, now }: { readonly operator: Address; readonly now: Date },
): Promise<State> {
  const day = utcDay(now);
  const [batches, jobs, nonces, partitionsAheadSeconds, standbys, webhookLagSeconds, taken, unadmitted] =
    await Promise.all([
      readOpenBatches(db, now),
      readJobs(db, now),
      readNonces(db, operator),
      readPartitionsAhead(db),
      countStandbys(db),
      readDeliveryLag(db, now),
      readLamportsUse(db, day),
      readUnadmittedUse(db, day),
    ]);
  const admitted = {
    lockedLamports: difference(taken.lockedLamports, unadmitted.lockedLamports),
    spentLamports: difference(taken.spentLamports, unadmitted.spentLamports),
  };
  const exposure = [
    { projects: 'admitted', ...admitted },
    { projects: 'unadmitted', ...unadmitted },
  ] as const;
  return { openBatches: batches, ...jobs, nonces, partitionsAheadSeconds, standbys, webhookLagSeconds, exposure };
}

/** The two sums are read one after the other, so the part may be the larger one. */
function difference(whole: bigint, part: bigint): bigint {
  return whole > part ? whole - part : 0n;
}

/** Condition on a row of `batches`: an error of the service or the cluster holds it up. Delays that have a reason are meant. */
const isOwnIssue = sql<boolean>`coalesce(
  execution_error->>'code' = 'ERR_BATCH_EXECUTE_FAILED' and execution_error->>'reason' is null, false)`;

async function readOpenBatches(db: Db, now: Date): Promise<ServiceState['openBatches']> {
  const { rows } = await sql<ServiceState['openBatches'][number]>`
    select status, waits_for as "waitsFor", count(*)::int as count,
      extract(epoch from ${now}::timestamptz - min(created_at))::float8 as "oldestSeconds"
    from (
      select status, created_at, case
        -- An issue of a setup, and one without a reason, is none of the project or the company.
        when status = 'FINALIZED' and execution_error is not null and not ${isOwnIssue} then 'issue'
        -- Nothing of it is slow: no transaction of it is sent.
        when (select paused_at from company) is not null
          or exists (select from projects where projects.id = batches.project_id and paused_at is not null) then 'pause'
        -- An alert watches the age of setups, also while the company decides, or the operator lacks SOL.
        when status = 'AVAILABLE_TO_QUEUE' then 'setup'
        when ${isOwnIssue} then 'service'
        else ${openBatchWaitsForSql}
      end as waits_for
      from batches where ended_at is null
    ) open_batches
    group by status, waits_for
    order by status, waits_for
  `.execute(db);
  return rows;
}

/**
 * Counts open jobs, and finds the lag of those that are due. One behind a job that runs for the first time only waits
 * for its turn, which may take minutes in a busy project; behind one that runs again, a failure may be what holds it
 * up.
 */
async function readJobs(db: Db, now: Date): Promise<Pick<ServiceState, 'jobs' | 'jobLagSeconds'>> {
  const { rows } = await sql<ServiceState['jobs'][number] & { readonly lagSeconds: number }>`
    with open_jobs as (
      select start_after, name, ${sql.raw(keyOf('j'))} as key, j.state = 'active' and retry_count = 0 as is_first_run, case j.state
        when 'created' then 'waiting' when 'retry' then 'waiting' when 'active' then 'running' else 'failed'
      end as state
      from jobs.job j where j.state <> 'completed'
    )
    select state, count(*)::int as count,
      coalesce(max(extract(epoch from ${now}::timestamptz - start_after)) filter (where state = 'waiting' and not has_turn), 0)::float8
        as "lagSeconds"
    from (
      select state, start_after, bool_or(is_first_run) over (partition by name, key) as has_turn from open_jobs
    ) jobs_in_turn
    group by state order by state
  `.execute(db);
  // A job that is due later has a negative lag.
  return { jobs: rows, jobLagSeconds: Math.max(0, ...rows.map(({ lagSeconds }) => lagSeconds)) };
}

const SHARES = ['common', 'own'] as const;

/**
 * Counts an operator's nonces in each state and kind of share, also where there are none: an alert watches for a common share
 * without a free one, which those of idle admitted projects must not hide.
 */
async function readNonces(db: Db, operator: Address): Promise<State['nonces']> {
  const { rows } = await sql<State['nonces'][number]>`
    select state, case when share is null then 'common' else 'own' end as share, count(*)::int as count
    -- Without an authority it is of an earlier release, which had one operator.
    from nonces where authority = ${operator} or authority is null
    group by 1, 2
  `.execute(db);
  return NONCE_STATES.flatMap((state) =>
    SHARES.map((share) => {
      const row = rows.find((each) => each.state === state && each.share === share);
      return { state, share, count: row?.count ?? 0 };
    }),
  );
}

/** Counts standbys, which every login may. */
async function countStandbys(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_replication`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Deletes what has no meaning after its time: sign-in challenges, sessions, windows of rate limits, and registrations
 * that were not paid.
 */
export async function deleteExpired(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('sign_in_challenges').where('expires_at', '<=', now).execute();
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute();
  await db.deleteFrom('rate_limits').where('expire', '<=', BigInt(now.getTime())).execute();
  // Each has up to 768 KiB, and costs its wallet nothing.
  const unpaidSince = new Date(now.getTime() - UNPAID_REGISTRATION_MS);
  await db.deleteFrom('registrations').where('project_id', 'is', null).where('created_at', '<=', unpaidSince).execute();
}
