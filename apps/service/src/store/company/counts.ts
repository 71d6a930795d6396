import { sql } from 'kysely';
import type { Db } from '../db.ts';

export interface Counts {
  /** Those whose token and flywheel are there. */
  readonly projects: number;
  readonly openBatches: number;
  /** For the company’s approval. */
  readonly waitingBatches: number;
}

/** How much there is of what the company looks after: counted now, all of it at one moment. */
export async function readCounts(db: Db): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select
      (
        select count(*)::int from projects
        where exists (select from tokens where project_id = projects.id and archived_at is null)
          and exists (select from flywheels where project_id = projects.id and archived_at is null)
      ) as projects,
      (select count(*)::int from batches where ended_at is null) as "openBatches",
      (
        select count(*)::int from batches
        where company_asked_at is not null and company_decided_at is null and ended_at is null
      ) as "waitingBatches"
  `.execute(db);
  const [counts] = rows;
  if (!counts) throw new Error('Three counts are always one row.');
  return counts;
}
