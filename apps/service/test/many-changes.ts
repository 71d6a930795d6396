import type { AuditAction } from '@flywheel/api';
import type { TestProject } from '@flywheel/testing/project';
import { sql } from 'kysely';
import type { Db } from '../src/store/db.ts';

/** Writes entries of an action to the audit log of a project, as if its wallet had just made so many changes. */
export async function insertManyChanges(
  db: Db,
  { projectId, wallet }: Pick<TestProject, 'projectId' | 'wallet'>,
  action: AuditAction,
  count: number,
): Promise<void> {
  await sql`
    insert into audit_log (at, actor, action, project_id)
    select now(), ${wallet.address}, ${action}, ${projectId} from generate_series(1, ${count}::int)
  `.execute(db);
}
