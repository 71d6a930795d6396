import { ApiError, type AuditEntry } from '@flywheel/api';
import { type Page, pageOf, parseCursor } from '../model/page.ts';
import { type AuditRecord, findAuditEntries, findAuditPlace } from '../store/audit.ts';
import type { Db } from '../store/db.ts';

/**
 * Reads a page of the audit log, newest first: of one project, or of all for null.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return, or whose entry has left with its project.
 */
export async function readHistory(
  { db }: { readonly db: Db },
  projectId: string | null,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<AuditEntry>> {
  const below = await findPlace(db, parseCursor('e', cursor));
  const found = await findAuditEntries(db, { projectId, below, limit: limit + 1 });
  const { rows, nextCursor } = pageOf('e', found, { limit, numberOf: ({ id }) => id });
  return { rows: rows.map(presentAuditEntry), nextCursor };
}

async function findPlace(db: Db, id: bigint | null) {
  if (id === null) return null;
  const place = await findAuditPlace(db, id);
  if (place) return place;
  const problem = 'is of an entry that is not in this log any more. Begin with the first page.';
  throw new ApiError('ERR_INVALID_REQUEST', { place: 'query.cursor', problem });
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
