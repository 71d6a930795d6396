import { ApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findJobSubject, retryJob as retry } from '../store/jobs/job-records.ts';

/**
 * Lets a job begin at once.
 * @throws ApiError ERR_JOB_NOT_FOUND for one that does not exist, runs, has ended well, or is an expiry to come.
 */
export async function retryJob({ db, clock }: Deps, operator: Address, jobId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const job = await findJobSubject(trx, jobId);
    if (!job || !(await retry(trx, jobId))) throw new ApiError('ERR_JOB_NOT_FOUND', { jobId });
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
