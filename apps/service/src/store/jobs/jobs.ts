import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { fromKysely, PgBoss, type UpdateQueueOptions } from 'pg-boss';
import { newShare, type Share } from '../../model/fair-gate.ts';
import type { Log } from '../../model/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { currentTrace, type TraceCarrier, tracedJob } from '../../telemetry/tracing.ts';
import { type Db, KEEP_ALIVE } from '../db.ts';
import { startListening } from '../listen.ts';
import { isRepeatOf } from './lanes.ts';
import { type ClaimedRun, startClaiming } from './run-claimed.ts';
import { BATCH, joinWorkers, type Presence } from './takeover.ts';

/**
 * Work behind the API. The setups of one multisig run one after another, in the order in which they were enqueued, and so do its
 * other jobs, beside the setups (decision 39).
 */
export type Job = BatchJob | SingleJob;

/** A job of the service itself, of which one runs at a time. */
export interface SingleJob {
  readonly type: keyof typeof SINGLE_QUEUES;
}

export interface BatchJob {
  readonly type: 'setup' | 'execute' | 'expire' | 'cancel' | 'close';
  readonly batchId: string;
  readonly multisig: Address;
}

/** A job of a batch, and the time before which it does not start. */
export interface EnqueuedJob {
  readonly job: BatchJob;
  readonly startAfter?: Date;
}

export interface Jobs {
  /**
   * Enqueues a job in the given transaction: it exists if and only if that commits, and starts then. `startAfter` lets
   * later jobs of the multisig run first. While another job of its type, and of its batch if it has one, is waiting, that one
   * takes its place: it starts at the earlier of the two times, and not before this transaction ends, so it sees what that has
   * written. A single job waits for another open transaction that enqueued one: enqueue it last, or outside.
   */
  enqueue(db: Db, job: Job, options?: { readonly startAfter?: Date }): Promise<void>;
  /** Enqueues the first jobs of a new batch, in one statement. */
  enqueueAll(db: Db, jobs: readonly EnqueuedJob[]): Promise<void>;
  /**
   * Runs jobs, those of `maxBatches` batches at most, one single job of each type. Projects are served in turn, and
   * neither setups nor executions can take all places. A handler that throws is retried without limit after a delay
   * that grows to 10 s; what comes after it in its lane waits meanwhile. A job may run again after it succeeded, if
   * this process dies before that is recorded. The jobs of a killed process run again at once if no other worker lives,
   * and otherwise when their heartbeats have expired. The signal aborts when the job was given to another process.
   */
  work(handler: JobHandler, options: { readonly maxBatches: number }): Promise<void>;
  /** Stops taking jobs, waits for running ones, and returns those that take longer than the limit (default 10 s). */
  stop(options?: { readonly timeoutSeconds?: number }): Promise<void>;
}

/** `share` is that of the job's project, for what its handler takes of resources that all projects share. */
export type JobHandler = (job: Job, signal: AbortSignal, share: Share) => Promise<void>;

/** Creates the queue in the database's schema `jobs`, or upgrades it. The login must own it. */
export async function installJobs(options: QueueOptions): Promise<void> {
  const owner = createBoss(options, { supervise: false, migrate: true, max: SENDER_CONNECTIONS });
  await owner.start();
  try {
    for (const { name, policy, ...settings } of QUEUES) {
      await owner.createQueue(name, { policy, ...settings });
      // createQueue leaves an existing queue unchanged, which may be of an older release.
      await owner.updateQueue(name, settings);
    }
  } finally {
    await owner.stop({ graceful: false });
  }
}

/**
 * Opens the queue, which must be installed. Without `work` it only sends: it polls and maintains nothing.
 */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { poolConfig, sessionConfig = poolConfig, log, metrics } = options;
  const sender = createBoss(options, { supervise: false, max: SENDER_CONNECTIONS });
  await sender.start();
  let worker: Working | null = null;
  let presence: Presence | null = null;
  const enqueueAll: Jobs['enqueueAll'] = async (db, jobs) => {
    const rows = jobs.map(({ job, startAfter }) => {
      return { data: traced(job), singletonKey: job.multisig, ...(startAfter && { startAfter }) };
    });
    const ids = await sender.insert(BATCH, rows, { db: fromKysely(db), returnId: true });
    if (ids?.length !== jobs.length) throw new Error(`The queue did not accept ${JSON.stringify(jobs)}.`);
  };
  return {
    enqueueAll,
    async enqueue(db, job, { startAfter } = {}) {
      if ('batchId' in job) {
        if (await joinWaiting(db, BATCH, isRepeatOf(job), startAfter)) return;
        return enqueueAll(db, [{ job, ...(startAfter && { startAfter }) }]);
      }
      const queue = SINGLE_QUEUES[job.type];
      for (;;) {
        const id = await sender.send(queue, traced(job), { db: fromKysely(db), ...(startAfter && { startAfter }) });
        if (id !== null || (await joinWaiting(db, queue, sql`state = 'created'`, startAfter))) return;
      }
    },
    async work(handler, { maxBatches }) {
      if (worker) throw new Error('This queue is being worked on already.');
      presence = await joinWorkers(sessionConfig, log);
      worker = await startWorking({ poolConfig, sessionConfig, log, metrics }, handler, maxBatches);
    },
    async stop({ timeoutSeconds = DEFAULT_STOP_SECONDS } = {}) {
      await worker?.stop(timeoutSeconds);
      await presence?.leave();
      await sender.stop({ graceful: false });
    },
  };
}

interface QueueOptions {
  readonly poolConfig: pg.PoolConfig;
  readonly log: Log;
}

export interface JobsOptions extends QueueOptions {
  /** Leads to PostgreSQL itself, for notifications and the lock of a worker; default: `poolConfig`. */
  readonly sessionConfig?: pg.PoolConfig;
  readonly metrics: Pick<Metrics, 'jobSeconds' | 'observeBatchesInFlight'>;
}

/** A job as the queue stores it, with the trace of the request that enqueued it, if there is one. */
type StoredJob = Job & { readonly trace?: TraceCarrier };

function traced(job: Job): StoredJob {
  const trace = currentTrace();
  return { ...job, ...(trace && { trace }) };
}

/** The queues of jobs of which one runs at a time. */
const SINGLE_QUEUES = {
  'refill-nonces': 'nonces',
  'review-changes': 'company',
  'keep-partitions': 'partitions',
  'pack-batches': 'archives',
} as const;

/** Container platforms kill a process 30 s after SIGTERM, and HTTP stops before the queue. */
const DEFAULT_STOP_SECONDS = 10;
/** A sender sends on the caller's connection; its own only read the queues' settings, once a minute. */
const SENDER_CONNECTIONS = 1;
/** Claims, heartbeats, ends and supervision. Handlers hold no connection of the queue's, however many run. */
const WORKER_CONNECTIONS = 4;

const QUEUE_OPTIONS = {
  // A permanently failed job would block its multisig; batches end in a state of their own instead.
  retryLimit: 1_000_000,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 10,
  // The minimum of pg-boss: a dead worker's job is taken over within heartbeat, supervision and retry delay.
  heartbeatSeconds: 10,
  // Limit for a handler that hangs: the longest batch, of 1,000 pipelines, takes minutes.
  expireInSeconds: 3_600,
  // Ten years, so that waiting jobs are never deleted. Completed ones are kept for a day for inspection.
  retentionSeconds: 315_360_000,
  deleteAfterSeconds: 86_400,
  notify: true,
} as const satisfies UpdateQueueOptions;

const QUEUES = [
  // One job of a key at a time, strictly in order, across processes; other keys are independent. See the keys in `claim.ts`.
  { name: BATCH, policy: 'key_strict_fifo', ...QUEUE_OPTIONS },
  // One waiting and one running: what is requested while one runs is not lost, and they never overlap.
  ...Object.values(SINGLE_QUEUES).map((name) => ({ name, policy: 'stately', ...QUEUE_OPTIONS }) as const),
] as const;

const SUPERVISION_SECONDS = 5;
/**
 * A worker skips a queue of single jobs if one was running at its last check of the queue (every 60 s by default), so a
 * shorter interval is needed for the next job to begin at once.
 */
const QUEUE_LOOKUP_SECONDS = 1;

/** Notifications wake workers at once; only retries, `startAfter` and released jobs wait for the next poll. */
const POLL_SECONDS = 1;

function createBoss(
  { poolConfig, log }: QueueOptions,
  own: { supervise: boolean; migrate?: boolean; max: number },
): PgBoss {
  const boss = new PgBoss({
    ...poolConfig,
    ...KEEP_ALIVE,
    migrate: false,
    ...own,
    application_name: 'flywheel-jobs',
    schema: 'jobs',
    schedule: false,
    superviseIntervalSeconds: SUPERVISION_SECONDS,
    monitorIntervalSeconds: SUPERVISION_SECONDS,
    // Only a worker needs the queues' counts, see `QUEUE_LOOKUP_SECONDS`; a sender needs their settings, which a release changes.
    ...(own.supervise && { queueCacheIntervalSeconds: QUEUE_LOOKUP_SECONDS }),
  });
  boss.on('error', (error) => log.error({ err: error }, 'job queue error'));
  boss.on('warning', ({ message, data }) => log.warn({ ...data }, message));
  return boss;
}

/**
 * Lets a waiting job take the place of one that is to be enqueued. Its row stays locked until the transaction ends, and claims
 * skip a locked row. One that waits to be retried keeps its time.
 * @returns false if none waits.
 */
async function joinWaiting(
  db: Db,
  queue: string,
  isMeant: RawBuilder<boolean>,
  startAfter: Date | undefined,
): Promise<boolean> {
  const { rows } = await sql`
    with joined as (
      update jobs.job
      set start_after = case state when 'created' then least(start_after, ${startAfter ?? sql`now()`}::timestamptz) else start_after end
      where name = ${queue} and ${isMeant}
      returning start_after
    )
    select pg_notify(${NOTIFY_CHANNEL}, ${queue}) from joined
  `.execute(db);
  return rows.length > 0;
}

interface Working {
  stop(timeoutSeconds: number): Promise<void>;
}

async function startWorking(
  { poolConfig, sessionConfig, log, metrics }: Required<JobsOptions>,
  handler: JobHandler,
  maxBatches: number,
): Promise<Working> {
  const boss = createBoss({ poolConfig, log }, { supervise: true, max: WORKER_CONNECTIONS });
  await boss.start();
  const stopping = new AbortController();
  const runDeps = { log, metrics, stopping: stopping.signal };
  const run = (job: StoredJob, claimed: ClaimedRun) => runJob(runDeps, handler, job, claimed);
  const isSetup = ({ type }: StoredJob) => type === 'setup';
  const batches = startClaiming({ boss, queue: BATCH, maxBatches, isSetup, run, log });
  metrics.observeBatchesInFlight((kind) => batches.count(kind), maxBatches);
  const singles = new Map<string, string>();
  for (const queue of Object.values(SINGLE_QUEUES)) singles.set(queue, await startSingleWorker(boss, queue, run));
  const wake = (queue: string) => {
    const single = singles.get(queue);
    if (queue === BATCH) batches.wake();
    else if (single !== undefined) boss.notifyWorker(single);
  };
  const clock = {
    now: () => new Date(),
    sleep: (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal }),
  };
  const listening = startListening({ sessionConfig, clock, log }, NOTIFY_CHANNEL, {
    onListening: () => [BATCH, ...singles.keys()].forEach(wake),
    onNotice: wake,
  });
  return {
    async stop(timeoutSeconds) {
      stopping.abort();
      const timeout = new AbortController();
      const finished = Promise.all(Object.values(SINGLE_QUEUES).map((queue) => boss.offWork(queue, { wait: true })));
      const timedOut = sleep(timeoutSeconds * 1_000, undefined, { signal: timeout.signal }).catch(() => undefined);
      await Promise.all([batches.stop(timeoutSeconds), Promise.race([finished, timedOut])]);
      timeout.abort();
      await listening.stop();
      // Jobs of the other queues that outlast the timeout fail, and another process retries them.
      await boss.stop({ graceful: false });
    },
  };
}

/** The channel on which pg-boss announces new jobs, with the queue's name (pg-boss 12.35, `notifyChannelSql`). */
const NOTIFY_CHANNEL = `pgboss_${createHash('sha224').update('jobs').digest('hex').slice(0, 24)}`;

/** Starts a worker of pg-boss for a queue that runs one job at a time. @returns its id. */
async function startSingleWorker(
  boss: PgBoss,
  queue: string,
  run: (job: StoredJob, claimed: ClaimedRun) => Promise<void>,
): Promise<string> {
  const workerId: string = await boss.work<StoredJob>(queue, { pollingIntervalSeconds: POLL_SECONDS }, async (jobs) => {
    try {
      for (const { id, data, signal } of jobs) await run(data, { id, signal, share: newShare(Date.now()) });
      // Two killed workers leave two jobs, and the queue retries only one of them. This run has done the work of both.
      await boss.getDb().executeSql(`delete from jobs.job where name = $1 and state = 'failed'`, [queue]);
    } finally {
      // Fetch the next job at once: it may have waited for this one, and nothing else would announce it.
      boss.notifyWorker(workerId);
    }
  });
  return workerId;
}

async function runJob(
  { log, metrics, stopping }: Pick<JobsOptions, 'log' | 'metrics'> & { readonly stopping: AbortSignal },
  handler: JobHandler,
  { trace, ...job }: StoredJob,
  { id, signal, share }: ClaimedRun,
): Promise<void> {
  const { type } = job;
  const stopTimer = metrics.jobSeconds.startTimer({ type });
  const ofBatch = 'batchId' in job && { 'flywheel.batch.id': job.batchId, 'flywheel.multisig': job.multisig };
  const attributes = { 'flywheel.job.id': id, 'flywheel.job.type': type, ...ofBatch };
  try {
    await tracedJob(`job ${type}`, attributes, trace, () => handler(job, signal, share));
    stopTimer({ outcome: 'done' });
  } catch (error) {
    // A handler that the stop of its process interrupts has not failed.
    stopTimer({ outcome: stopping.aborted ? 'stopped' : 'failed' });
    if (stopping.aborted) log.info({ err: error, job }, 'job interrupted by a stop; the next worker continues it');
    else log.warn({ err: error, job }, 'job failed and will be run again');
    throw error;
  }
}
