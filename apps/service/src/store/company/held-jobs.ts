import { sql } from 'kysely';
import type { Db } from '../db.ts';
import type { Job } from '../jobs/jobs.ts';

/**
 * What there is to be done for batches as they stand, in the order in which the chain takes them: of one project, or of
 * all that are not paused by themselves. Jobs that a pause turned away are among them.
 */
export async function findHeldJobs(db: Db, projectId: string | null): Promise<Job[]> {
  const rows = await db
    .selectFrom('batches')
    .innerJoin('flywheels', 'flywheels.id', 'batches.flywheel_id')
    .innerJoin('projects', 'projects.id', 'batches.project_id')
    .select(['batches.id as batchId', 'multisig'])
    .select(
      sql<'setup' | 'execute' | 'close'>`case
        when ended_at is not null then 'close'
        when signed_tx is not null and (company_asked_at is null or company_decided_at is not null) then 'execute'
        else 'setup'
      end`.as('type'),
    )
    .where('closed_at', 'is', null)
    // What the wallet or the company has to approve has nothing to be done.
    .where(({ eb, or }) =>
      or([
        eb('ended_at', 'is not', null),
        eb('status', '=', 'AVAILABLE_TO_QUEUE'),
        sql<boolean>`signed_tx is not null and (company_asked_at is null or company_decided_at is not null)`,
      ]),
    )
    .$if(projectId !== null, (query) => query.where('batches.project_id', '=', projectId))
    .$if(projectId === null, (query) => query.where('projects.paused_at', 'is', null))
    .orderBy('multisig')
    .orderBy('batch_index')
    .execute();
  return rows;
}
