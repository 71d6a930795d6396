import { ApiError, type AuditEntry } from '@flywheel/api';
import { chunksOf } from '@flywheel/protocol';
import { type Page, pageOf, parseCursor } from '../model/page.ts';
import {
  type AuditRecord,
  type AuditValues,
  findAuditEntries,
  findAuditPlace,
  findAuditValues,
} from '../store/audit.ts';
import type { Db } from '../store/db.ts';

/** Bytes of JSON of the values of a page, if it has several entries. */
const MAX_PAGE_BYTES = 512 * 1024;
/** Entries whose values are measured together: the database decompresses them for it. */
const MEASURED_AT_ONCE = 5;

/**
 * Reads a page of the audit log, newest first: of one project, or of all for null. A page has fewer entries if they are large.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return, or whose entry has left with its project.
 */
export async function readHistory(
  { db }: { readonly db: Db },
  projectId: string | null,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<Page<AuditEntry>> {
  const below = await findPlace(db, parseCursor('e', cursor));
  const found = await findAuditEntries(db, { projectId, below, limit: limit + 1 });
  const values = await readValues(
    db,
    found.map(({ id }) => id),
  );
  const { rows, nextCursor } = pageOf('e', found, { limit: Math.min(limit, values.length), numberOf: ({ id }) => id });
  return {
    rows: rows.map((entry, i) => presentAuditEntry({ before: null, after: null, ...entry, ...values[i] })),
    nextCursor,
  };
}

/** Reads the values of the first entries, in their order: of as many as fit a page, and of one at least. */
async function readValues(db: Db, ids: readonly bigint[]): Promise<AuditValues[]> {
  const values: AuditValues[] = [];
  let bytes = 0;
  for (const some of chunksOf(ids, MEASURED_AT_ONCE)) {
    const room = { bytes: MAX_PAGE_BYTES - bytes, isOneNeeded: values.length === 0 };
    const found = await findAuditValues(db, some, room);
    values.push(...found);
    if (found.length < some.length) return values;
    bytes += found.at(-1)?.bytes ?? 0;
  }
  return values;
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
