import { setTimeout as sleep } from 'node:timers/promises';
import type { PgBoss } from 'pg-boss';
import { newShare, type Share } from '../../model/fair-gate.ts';
import type { Log } from '../../model/log.ts';
import { type ClaimedJob, claimJobs, findFollowed, keepClaims, type Room } from './claim.ts';

export interface ClaimedRun {
  /** The id of the job in the queue. */
  readonly id: string;
  /** Aborts when the job was given to another process, or when this one stops before it has ended. */
  readonly signal: AbortSignal;
  readonly share: Share;
}

export interface ClaimLoopOptions<Stored> {
  readonly boss: PgBoss;
  readonly queue: string;
  readonly maxBatches: number;
  readonly isSetup: (job: Stored) => boolean;
  readonly run: (job: Stored, run: ClaimedRun) => Promise<void>;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

export interface ClaimLoop {
  /** Claims what is due now, as soon as there is a free place. */
  wake(): void;
  count(kind: 'setup' | 'execution'): number;
  /** Claims nothing more and waits for running jobs, at most that long; those still running then go to other workers. */
  stop(timeoutSeconds: number): Promise<void>;
}

/** Notifications wake the loop at once; only retries, `startAfter` and jobs of dead workers wait for the next poll. */
const POLL_MS = 1_000;
/** Half of the heartbeat that pg-boss allows: one lost statement does not cost the claim. */
const HEARTBEAT_MS = 5_000;

/**
 * Claims jobs of the queue and runs up to `maxBatches` at a time, of which setups can always have a quarter, and
 * executions too. One loop claims for all places, one statement keeps all claims alive.
 */
export function startClaiming<Stored extends object>(options: ClaimLoopOptions<Stored>): ClaimLoop {
  const { boss, queue, maxBatches, isSetup, log } = options;
  const running = new Map<string, Running<Stored>>();
  let isStopping = false;
  let noticeAfterMs = 0;
  let awake = Promise.withResolvers<void>();
  const wake = () => awake.resolve();

  const count = (kind: 'setup' | 'execution') =>
    [...running.values()].filter(({ job }) => isSetup(job.data) === (kind === 'setup')).length;

  const start = (job: ClaimedJob<Stored>) => {
    const lost = new AbortController();
    const nowMs = Date.now();
    const share = newShare(nowMs - job.sinceDueMs);
    if (job.sinceServedMs !== null) share.servedUntilMs = nowMs - job.sinceServedMs;
    share.hasBacklog = job.isFollowed || job.isLarge;
    // The queue has taken it back meanwhile, and this process has claimed it again.
    running.get(job.id)?.lost.abort(new Error(`Job ${job.id} was claimed again.`));
    const ended = settle(options, job, { id: job.id, signal: lost.signal, share }).finally(() => {
      if (running.get(job.id)?.lost === lost) running.delete(job.id);
      // Its multisig, or another project that waited for the place, may be next.
      wake();
    });
    running.set(job.id, { job, share, lost, ended });
  };

  const claimOnce = async () => {
    const room = roomOf(maxBatches, count('setup'), count('execution'));
    if (room.total === 0) return;
    const jobs = await claimJobs<Stored>(boss.getDb(), room);
    for (const job of jobs) start(job);
  };

  /** A backlog begins and ends while a job waits for its turn. */
  const noticeBacklogs = async () => {
    if (running.size < 2 || Date.now() < noticeAfterMs) return;
    noticeAfterMs = Date.now() + POLL_MS;
    const held = [...running.values()];
    const followed = await findFollowed(
      boss.getDb(),
      held.map(({ job }) => job),
    );
    for (const { job, share } of held) share.hasBacklog = job.isLarge || followed.has(job.id);
  };

  const looped = (async () => {
    while (!isStopping) {
      awake = Promise.withResolvers();
      await claimOnce().catch((err: unknown) => log.error({ err }, 'jobs cannot be claimed'));
      await noticeBacklogs().catch((err: unknown) => log.warn({ err }, 'backlogs of projects cannot be read'));
      const polled = new AbortController();
      const poll = sleep(POLL_MS, undefined, { signal: polled.signal }).catch(() => undefined);
      if (!isStopping) await Promise.race([awake.promise, poll]);
      polled.abort();
    }
  })();

  const heartbeat = setInterval(async () => {
    const held = [...running.values()];
    if (held.length === 0) return;
    try {
      const kept = await keepClaims(
        boss.getDb(),
        held.map(({ job }) => job),
      );
      for (const { job, lost } of held) {
        if (!kept.has(job.id)) lost.abort(new Error(`Job ${job.id} is not held by this worker any more.`));
      }
    } catch (err) {
      // A heartbeat that could not be written says nothing about the claims.
      log.warn({ err }, 'the heartbeat of the running jobs could not be written');
    }
  }, HEARTBEAT_MS);

  return {
    wake,
    count,
    stop: async (timeoutSeconds) => {
      isStopping = true;
      wake();
      await looped;
      const timeout = new AbortController();
      const finished = Promise.all([...running.values()].map(({ ended }) => ended));
      const timedOut = sleep(timeoutSeconds * 1_000, undefined, { signal: timeout.signal }).catch(() => undefined);
      await Promise.race([finished, timedOut]);
      timeout.abort();
      clearInterval(heartbeat);
      const left = [...running.values()];
      if (left.length === 0) return;
      // Failed before the abort, so that the end of a handler finds nothing to complete.
      const jobs = left.map(({ job }) => job);
      await boss.fail(queue, jobs, new Error('The worker has stopped.')).catch((err: unknown) => {
        log.error({ err }, 'running jobs could not be returned; others take them over without a heartbeat');
      });
      for (const { lost } of left) lost.abort(new Error('The worker has stopped.'));
    },
  };
}

interface Running<Stored> {
  readonly job: ClaimedJob<Stored>;
  readonly share: Share;
  readonly lost: AbortController;
  readonly ended: Promise<void>;
}

/** Setups get a quarter of the places first, then executions what is left, and then setups again. */
export function roomOf(maxBatches: number, setups: number, executions: number): Room {
  const quarter = Math.floor(maxBatches / 4);
  return {
    total: Math.max(0, maxBatches - setups - executions),
    firstSetups: Math.max(0, quarter - setups),
    setups: Math.max(0, maxBatches - quarter - setups),
    executions: Math.max(0, maxBatches - quarter - executions),
  };
}

/** Runs one job and reports its outcome to the queue. If that fails, the job runs again after its heartbeat has stopped. */
async function settle<Stored extends object>(
  { boss, queue, run, log }: ClaimLoopOptions<Stored>,
  job: ClaimedJob<Stored>,
  claimed: ClaimedRun,
): Promise<void> {
  try {
    const error = await run(job.data, claimed).then(
      () => null,
      (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason))),
    );
    await (error === null ? boss.complete(queue, job) : boss.fail(queue, job, error));
  } catch (err) {
    log.error({ err, jobId: job.id }, 'the end of a job could not be recorded; it will run again');
  }
}
