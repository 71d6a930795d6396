import { ApiError, type CompanyOverview } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { answerWithin, utcDay } from '../model/clock.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { readLamportsUse, readUnadmittedUse } from '../store/batches/exposure.ts';
import { readCounts, readSpending, SPENDING_DAYS } from '../store/company/overview.ts';
import { findPauseForAll } from '../store/company/pauses.ts';
import { findJobSubject, findJobs, type JobRecord, retryJob as retryStoredJob } from '../store/jobs/job-records.ts';
import { readServiceState } from '../store/service-state.ts';

export interface OperationsDeps extends Pick<Deps, 'db' | 'chain' | 'clock' | 'log' | 'caps'> {
  /** Address of the operator's signer. */
  readonly operator: Address;
  /** Address of the company's signer. */
  readonly company: Address;
}

/** Reads the state of the service: the operator's balance and spending, batches that wait for a person, stuck jobs. */
export async function readCompany(deps: OperationsDeps): Promise<CompanyOverview> {
  const { db, clock, operator, company, caps } = deps;
  const now = clock.now();
  const [pause, counts, spending, taken, unadmitted, state, jobs, lamports] = await Promise.all([
    findPauseForAll(db),
    readCounts(db),
    readSpending(db, now),
    readLamportsUse(db, utcDay(now)),
    readUnadmittedUse(db, utcDay(now)),
    readServiceState(db, { operator, now }),
    listJobs(deps),
    readBalance(deps),
  ]);
  const spentPerDay = spending.spentLamports / SPENDING_DAYS;
  const countOf = (wanted: string) =>
    state.nonces.reduce((sum, each) => (each.state === wanted ? sum + each.count : sum), 0);
  return {
    isPaused: pause !== null,
    ...(pause && { pausedAt: pause.since.toISOString() }),
    ...(pause && pause.reason !== null && { pauseReason: pause.reason }),
    operator: {
      address: operator,
      lamports: lamports === null ? null : String(lamports),
      rentOutLamports: String(spending.rentOutLamports > 0n ? spending.rentOutLamports : 0n),
      spentPerDayLamports: String(spentPerDay),
      runwayDays: lamports === null || spentPerDay === 0n ? null : Number(lamports / spentPerDay),
    },
    exposure: {
      lockedLamports: String(taken.lockedLamports),
      spentTodayLamports: String(taken.spentLamports),
      unadmitted: {
        locked: { used: String(unadmitted.lockedLamports), cap: String(caps.lockedUnadmittedLamports) },
        spentToday: { used: String(unadmitted.spentLamports), cap: String(caps.spentUnadmittedLamports) },
      },
    },
    company,
    nonces: {
      creating: countOf('creating'),
      available: countOf('available'),
      leased: countOf('leased'),
      refreshing: countOf('refreshing'),
    },
    ...counts,
    stuckJobs: jobs.filter(({ problem }) => problem !== null).length,
  };
}

export type QueuedJob = JobRecord;

/** Lists the jobs that have not ended, oldest first, without expiries that are not due yet. */
export async function listJobs({ db }: Pick<Deps, 'db'>): Promise<QueuedJob[]> {
  return findJobs(db, { withCompleted: false, withScheduled: false });
}

/**
 * Makes a job due now.
 * @throws ApiError ERR_JOB_NOT_FOUND if it does not exist, is running, has completed, or is an expiry that is not due yet.
 */
export async function retryJob({ db, clock }: Deps, operator: Address, jobId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const job = await findJobSubject(trx, jobId);
    if (!job || !(await retryStoredJob(trx, jobId))) throw new ApiError('ERR_JOB_NOT_FOUND', { jobId });
    const { batchId, projectId } = job;
    await insertAuditEntry(trx, {
      at: clock.now(),
      actor: operator,
      action: 'job.retried',
      ...(projectId !== null && { projectId }),
      ...(batchId !== null && { batchId }),
      subject: jobId,
    });
  });
}

/** The screen shows everything else meanwhile. */
const BALANCE_TIMEOUT_MS = 2_000;

/** Reads the operator's lamports; null if the cluster does not answer in time. */
async function readBalance({ chain, clock, log, operator }: OperationsDeps): Promise<bigint | null> {
  try {
    const accounts = await answerWithin(clock, BALANCE_TIMEOUT_MS, chain.accounts([operator]));
    return accounts && (accounts[0]?.lamports ?? 0n);
  } catch (error) {
    log.warn({ err: error, operator }, 'the balance of the operator cannot be read');
    return null;
  }
}
