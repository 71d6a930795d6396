import type { PgBoss } from 'pg-boss';

/** The queue's own connections. */
type QueueDb = Pick<ReturnType<PgBoss['getDb']>, 'executeSql'>;

/** Places that are free for jobs of batches. A setup and an execution never take each other's last quarter. */
export interface Room {
  readonly total: number;
  readonly setups: number;
  /** Setups that are claimed before any execution. */
  readonly firstSetups: number;
  readonly executions: number;
}

export interface ClaimedJob<Stored> {
  readonly id: string;
  readonly data: Stored;
  /** Names this attempt: pg-boss settles a job for its latest attempt only. */
  readonly retryCount: number;
  /** Milliseconds since the project was served, as the order of claims counts them. */
  readonly unservedMs: number;
}

/**
 * Claims due jobs of the queue `batch`, one for each multisig that has none running, failed or waiting to be retried
 * before it. This is pg-boss's own fetch of a strict queue (pg-boss 12.35, `fetchNextJob`) in another order, which pg-boss
 * cannot give: the project that was served least recently goes first, and each further job of a project that is due
 * counts as half a minute, so that a single batch overtakes a backlog that was not served yet either.
 */
export async function claimJobs<Stored>(
  db: QueueDb,
  { total, setups, firstSetups, executions }: Room,
): Promise<ClaimedJob<Stored>[]> {
  try {
    const { rows } = await db.executeSql(CLAIM, [total, setups, firstSetups, executions]);
    return rows;
  } catch (error) {
    // Another worker has won the key at the same moment: the unique index of the policy decides.
    if (error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION) return [];
    throw error;
  }
}

/**
 * Keeps claims alive: the supervisors of pg-boss return a job whose heartbeat is ten seconds old.
 * @returns the ids of the jobs that this process still holds.
 */
export async function keepClaims(
  db: QueueDb,
  jobs: readonly Pick<ClaimedJob<unknown>, 'id' | 'retryCount'>[],
): Promise<ReadonlySet<string>> {
  const attempts = [jobs.map(({ id }) => id), jobs.map(({ retryCount }) => retryCount)];
  const { rows } = await db.executeSql(KEEP, attempts);
  return new Set(rows.map(({ id }: { readonly id: string }) => id));
}

const KEEP = `
  update jobs.job j set heartbeat_on = now()
  from unnest($1::uuid[], $2::int[]) as held (id, retry_count)
  where j.name = 'batch' and j.id = held.id and j.state = 'active' and j.retry_count = held.retry_count
  returning j.id`;

const UNIQUE_VIOLATION = '23505';

const CLAIM = `
  with heads as materialized (
    select distinct on (h.singleton_key) h.id, count(*) over (partition by h.singleton_key) as due
    from jobs.job h
    where h.name = 'batch' and h.state < 'active' and not h.blocked and h.policy = 'key_strict_fifo'
      and h.start_after <= now()
    order by h.singleton_key, h.state desc, h.created_on, h.id
  ), claimable as (
    select j.id, j.created_on, j.data->>'type' = 'setup' as is_setup,
      greatest(coalesce(f.served_at, '-infinity'), now() - interval '5 minutes')
        + least(heads.due - 1, 8) * interval '30 seconds' as served_at
    from heads join jobs.job j on j.name = 'batch' and j.id = heads.id
      left join flywheels f on f.multisig = j.singleton_key
    where not exists (
      select from jobs.job b
      where b.name = 'batch' and b.singleton_key = j.singleton_key and b.policy = 'key_strict_fifo'
        and b.state in ('active', 'retry', 'failed') and b.id <> j.id
    )
  ), ranked as (
    select id, is_setup, served_at,
      row_number() over (partition by is_setup order by served_at, created_on, id) as place
    from claimable
  ), next as (
    select j.id, ranked.served_at
    from ranked join jobs.job j on j.name = 'batch' and j.id = ranked.id
    where j.state < 'active' and ranked.place <= case when ranked.is_setup then $2::int else $4::int end
    order by case when not ranked.is_setup then 1 when ranked.place <= $3::int then 0 else 2 end, ranked.place
    limit $1::int
    for update of j skip locked
  )
  update jobs.job j
  set state = 'active', started_on = now(), heartbeat_on = now(),
    retry_count = case when j.started_on is not null then j.retry_count + 1 else j.retry_count end
  from next where j.name = 'batch' and j.id = next.id
  returning j.id, j.data, j.retry_count as "retryCount",
    extract(epoch from now() - next.served_at)::float8 * 1000 as "unservedMs"`;
