import type { BatchEvent } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';

export interface EventPage {
  /** In the order in which they happened. */
  readonly events: readonly BatchEvent[];
  /** Nothing will come after these. */
  readonly isLast: boolean;
}

/** Read at once, and sent one by one. */
const PAGE = 100;

/** What became of a batch after an event. */
export async function findEvents(db: Db, batchId: string, after: bigint): Promise<EventPage> {
  // First: what is over has had its last event.
  const isOver = await isBatchOver(db, batchId);
  const rows = await db
    .selectFrom('batch_events')
    .selectAll()
    .where('batch_id', '=', batchId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(PAGE)
    .execute();
  const events = rows.map((row) => ({
    id: String(row.id),
    type: row.type,
    batchId: row.batch_id,
    at: row.at.toISOString(),
    status: row.status,
    ...row.data,
  }));
  return { events, isLast: isOver && rows.length < PAGE };
}

/** Closed on chain; or ended without ever having been there, which leaves nothing to close. */
async function isBatchOver(db: Db, batchId: string): Promise<boolean> {
  const { is_over } = await db
    .selectFrom('batches')
    .select(
      sql<boolean>`closed_at is not null
        or (ended_at is not null and not exists (select from bundles where batch_id = batches.id))`.as('is_over'),
    )
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  return is_over;
}
