import type { Deps } from '../batches/deps.ts';
import { findJobs, type JobRecord } from '../store/jobs/job-records.ts';

export type QueuedJob = JobRecord;

/** The jobs that have not ended, oldest first; expiries that are to come are no work yet. */
export async function listJobs({ db }: Pick<Deps, 'db'>): Promise<QueuedJob[]> {
  return findJobs(db, { withCompleted: false, withScheduled: false });
}
