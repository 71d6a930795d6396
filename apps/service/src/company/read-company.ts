import type { CompanyOverview } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { answerWithin } from '../solana/answer-within.ts';
import { readCounts } from '../store/company/counts.ts';
import { findPauseForAll } from '../store/company/pauses.ts';
import { readSpending } from '../store/company/spending.ts';
import { findJobs } from '../store/jobs/job-records.ts';
import { readServiceState } from '../store/service-state.ts';

export interface CompanyDeps extends Pick<Deps, 'db' | 'chain' | 'clock' | 'log'> {
  /** The signers' addresses. */
  readonly operator: Address;
  readonly company: Address;
}

const DAYS = 7n;
const DAY_MS = 86_400_000;

/** How the service stands: what the operator holds and spends, what waits for a person, what is stuck. */
export async function readCompany(deps: CompanyDeps): Promise<CompanyOverview> {
  const { db, clock, operator, company } = deps;
  const now = clock.now();
  const since = new Date(now.getTime() - Number(DAYS) * DAY_MS);
  const [pause, counts, spending, state, jobs, lamports] = await Promise.all([
    findPauseForAll(db),
    readCounts(db),
    readSpending(db, since),
    readServiceState(db, now),
    findJobs(db, { withCompleted: false, withScheduled: false }),
    readBalance(deps),
  ]);
  const spentPerDay = spending.spentLamports / DAYS;
  const countOf = (wanted: string) => state.nonces.find(({ state: each }) => each === wanted)?.count ?? 0;
  return {
    isPaused: pause !== null,
    ...(pause && pause.reason !== null && { pauseReason: pause.reason }),
    operator: {
      address: operator,
      lamports: lamports === null ? null : String(lamports),
      rentOutLamports: String(spending.rentOutLamports > 0n ? spending.rentOutLamports : 0n),
      spentPerDayLamports: String(spentPerDay),
      runwayDays: lamports === null || spentPerDay === 0n ? null : Number(lamports / spentPerDay),
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

/** The page shows everything else meanwhile. */
const PATIENCE_MS = 2_000;

/** Lamports; null while the cluster does not answer. */
async function readBalance({ chain, clock, log, operator }: CompanyDeps): Promise<bigint | null> {
  try {
    const accounts = await answerWithin(clock, PATIENCE_MS, chain.accounts([operator]));
    return accounts && (accounts[0]?.lamports ?? 0n);
  } catch (error) {
    log.warn({ err: error, operator }, 'the operator’s balance cannot be read');
    return null;
  }
}
