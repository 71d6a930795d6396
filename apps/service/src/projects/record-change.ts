import { ApiError } from '@flywheel/api';
import { findAuditTime, insertAuditEntry, type NewAuditEntry } from '../store/audit.ts';
import type { Db } from '../store/db.ts';

/**
 * Changes of a project in 24 hours, by action. The log keeps each change for good: without a bound, a project could fill the disk.
 * A change of proof types may have 1.5 MB, the others have 5 KB at most.
 */
const MAX_CHANGES_A_DAY = {
  'proof-types.changed': 100,
  'limits.changed': 1_000,
  'webhook.created': 1_000,
  'webhook.changed': 1_000,
  'webhook.rotated': 1_000,
} as const;

const DAY_SECONDS = 86_400;

/** A change that a project's wallet makes by itself. */
interface ProjectChange extends NewAuditEntry {
  readonly action: keyof typeof MAX_CHANGES_A_DAY;
  readonly projectId: string;
}

/**
 * Writes a change to the audit log.
 * @param trx the transaction of the change, which the error ends.
 * @throws ApiError ERR_RATE_LIMITED after too many changes of this kind in 24 hours
 */
export async function recordChange(trx: Db, change: ProjectChange): Promise<void> {
  const { at, action, projectId } = change;
  const max = MAX_CHANGES_A_DAY[action];
  const since = new Date(at.getTime() - DAY_SECONDS * 1_000);
  const earliest = await findAuditTime(trx, { projectId, action, since, count: max });
  if (earliest !== undefined) {
    const retryAfterSeconds = Math.ceil((earliest.getTime() - since.getTime()) / 1_000);
    throw new ApiError('ERR_RATE_LIMITED', { requests: max, seconds: DAY_SECONDS, retryAfterSeconds });
  }
  await insertAuditEntry(trx, change);
}
