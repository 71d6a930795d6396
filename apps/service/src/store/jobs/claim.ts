import type { PgBoss } from 'pg-boss';
import { BACKLOG_CREDIT_MS, CREDIT_MS } from '../../model/fair-gate.ts';
import { hasCode } from '../../model/has-code.ts';
import { isSetup, keyOf, multisigOf } from './lanes.ts';

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
  /** Milliseconds since the job was due. */
  readonly sinceDueMs: number;
  /** Milliseconds since the project was served; null if it never was. */
  readonly sinceServedMs: number | null;
  /** The batch needs several bundles. */
  readonly isLarge: boolean;
  /** The project has another batch to set up or to execute. */
  readonly isFollowed: boolean;
}

/**
 * Claims due jobs of the queue `batch`: of each multisig one setup and one other job, if it has none of the same lane
 * running, failed or waiting to be retried before it. A setup gets a key of its own when it is claimed, and not before: a
 * release without lanes, which may run meanwhile, keeps what waits in one order. The query is that of pg-boss for a strict
 * queue (12.35, `fetchNextJob`) in an order that pg-boss does not offer: the project that was served least recently goes first,
 * and a small single batch overtakes backlogs that were not served yet either. The gates in front of what projects share have
 * the same order (`model/fair-gate.ts`).
 */
export async function claimJobs<Stored>(
  db: QueueDb,
  { total, setups, firstSetups, executions }: Room,
): Promise<ClaimedJob<Stored>[]> {
  try {
    const credits = [CREDIT_MS, BACKLOG_CREDIT_MS];
    const { rows } = await db.executeSql(CLAIM, [total, setups, firstSetups, executions, ...credits]);
    return rows;
  } catch (error) {
    // Another worker has won the key at the same moment: the unique index of the policy decides.
    if (hasCode(error, UNIQUE_VIOLATION)) return [];
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

/** Finds the running jobs whose project has another batch to set up or to execute. @returns their ids. */
export async function findFollowed(
  db: QueueDb,
  jobs: readonly Pick<ClaimedJob<unknown>, 'id'>[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.executeSql(FOLLOWED, [jobs.map(({ id }) => id)]);
  return new Set(rows.map(({ id }: { readonly id: string }) => id));
}

const FOLLOWED = `
  select j.id from unnest($1::uuid[]) held (id) join jobs.job j on j.name = 'batch' and j.id = held.id
  where ${multisigOf('j')} in (
    select ${multisigOf('w')} from jobs.job w
    where w.name = 'batch' and w.state < 'active' and w.start_after <= now() and w.data->>'type' in ('setup', 'execute')
  )`;

/** One bundle sets up about as many pipelines. */
const LARGE_PIPELINES = 10;

const UNIQUE_VIOLATION = '23505';

const CLAIM = `
  with heads as materialized (
    select distinct on (h.singleton_key, ${isSetup('h')}) h.id, ${keyOf('h')} as claimed_key,
      count(*) filter (where h.data->>'type' in ('setup', 'execute')) over (partition by h.singleton_key) as due
    from jobs.job h
    where h.name = 'batch' and h.state < 'active' and not h.blocked and h.policy = 'key_strict_fifo'
      and h.start_after <= now()
    order by h.singleton_key, ${isSetup('h')}, h.state desc, h.created_on, h.id
  ), claimable as (
    -- Two rows may lead to one key, of which one was written by somebody else: claiming both would fail, for all projects.
    select distinct on (heads.claimed_key)
      j.id, j.created_on, j.start_after, heads.claimed_key, ${isSetup('j')} as is_setup, f.served_at,
      heads.due > 1 as is_followed, coalesce(b.pipeline_count > ${LARGE_PIPELINES}, false) as is_large
    from heads join jobs.job j on j.name = 'batch' and j.id = heads.id
      left join flywheels f on f.multisig = ${multisigOf('j')}
      left join batches b on b.id = (j.data->>'batchId')::uuid
    where not exists (
      select from jobs.job b
      where b.name = 'batch' and b.singleton_key = heads.claimed_key and b.policy = 'key_strict_fifo'
        and b.state in ('active', 'retry', 'failed') and b.id <> j.id
    )
    -- A setup that an older release runs keeps the key of the other lane.
    and not (${isSetup('j')} and exists (
      select from jobs.job b
      where b.name = 'batch' and b.singleton_key = ${multisigOf('j')} and b.policy = 'key_strict_fifo'
        and b.state = 'active' and b.id <> j.id and ${isSetup('b')}
    ))
    order by heads.claimed_key, j.created_on, j.id
  ), ranked as (
    select claimable.*, row_number() over (
      partition by is_setup
      order by greatest(served_at,
        start_after - case when is_followed or is_large then $6::int else $5::int end * interval '1 millisecond'
      ), created_on, id
    ) as place
    from claimable
  ), next as (
    select j.id, ranked.claimed_key, ranked.served_at, ranked.is_followed, ranked.is_large
    from ranked join jobs.job j on j.name = 'batch' and j.id = ranked.id
    where j.state < 'active' and ranked.place <= case when ranked.is_setup then $2::int else $4::int end
    order by case when not ranked.is_setup then 1 when ranked.place <= $3::int then 0 else 2 end, ranked.place
    limit $1::int
    for update of j skip locked
  )
  update jobs.job j
  set state = 'active', singleton_key = next.claimed_key, started_on = now(), heartbeat_on = now(),
    retry_count = case when j.started_on is not null then j.retry_count + 1 else j.retry_count end
  from next where j.name = 'batch' and j.id = next.id
  returning j.id, j.data, j.retry_count as "retryCount", next.is_followed as "isFollowed", next.is_large as "isLarge",
    extract(epoch from now() - j.start_after)::float8 * 1000 as "sinceDueMs",
    extract(epoch from now() - next.served_at)::float8 * 1000 as "sinceServedMs"`;
