import { ApiError, type AuditEntry } from '@flywheel/api';
import { type AuditRecord, findAuditEntries } from '../store/audit.ts';
import type { Db } from '../store/db.ts';

export interface HistoryPage {
  readonly entries: AuditEntry[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Who did what, newest first: a project's, or all for null. The cursor is the id of the last entry seen, in our own words.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that is none of ours.
 */
export async function readHistory(
  { db }: { readonly db: Db },
  projectId: string | null,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<HistoryPage> {
  const found = await findAuditEntries(db, { projectId, below: parseCursor(cursor), limit: limit + 1 });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    entries: page.map(presentAuditEntry),
    ...(found.length > limit && last && { nextCursor: `e${last.id}` }),
  };
}

function parseCursor(cursor: string | undefined): bigint | null {
  if (cursor === undefined) return null;
  const id = /^e([1-9]\d{0,17})$/.exec(cursor)?.[1];
  if (id !== undefined) return BigInt(id);
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'query.cursor',
    problem: 'is none that this operation answered.',
  });
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
