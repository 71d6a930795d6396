import type { AuditEntry } from '@flywheel/api';
import { type Page, pageOf, parseCursor } from '../model/page.ts';
import { type AuditRecord, findAuditEntries } from '../store/audit.ts';
import type { Db } from '../store/db.ts';

/**
 * Reads a page of the audit log, newest first: of one project, or of all for null.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return.
 */
export async function readHistory(
  { db }: { readonly db: Db },
  projectId: string | null,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<AuditEntry>> {
  const found = await findAuditEntries(db, { projectId, below: parseCursor('e', cursor), limit: limit + 1 });
  const { rows, nextCursor } = pageOf('e', found, { limit, numberOf: ({ id }) => id });
  return { rows: rows.map(presentAuditEntry), nextCursor };
}

function presentAuditEntry(record: AuditRecord): AuditEntry {
  const { id, at, actor, action, project_id, batch_id, subject, before, after, reason } = record;
  return {
    id: String(id),
    at: at.toISOString(),
    actor,
    action,
    ...(project_id !== null && { projectId: project_id }),
    ...(batch_id !== null && { batchId: batch_id }),
    ...(subject !== null && { subject }),
    ...(before !== null && { before }),
    ...(after !== null && { after }),
    ...(reason !== null && { reason }),
  };
}
