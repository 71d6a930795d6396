import type { BatchEventDetails, BatchEventType } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** On which a batch’s id is sent with each event of it. */
export const EVENTS_CHANNEL = 'batch_events';

/**
 * Tells that something has become of a batch, in the transaction in which it does. Holds the batch’s row before it takes
 * an id: of one batch, events are committed in the order of their ids, so that whoever reads on from the last misses none.
 */
export async function recordEvent(
  trx: Db,
  batchId: string,
  { type, at, ...details }: { readonly type: BatchEventType; readonly at: Date } & BatchEventDetails,
): Promise<void> {
  await sql`
    with batch as (select id, status from batches where id = ${batchId} for no key update),
    recorded as (
      insert into batch_events (batch_id, type, at, status, data)
      select id, ${type}, ${at}, status, ${JSON.stringify(details)} from batch
      returning batch_id
    )
    select pg_notify(${EVENTS_CHANNEL}, batch_id::text) from recorded
  `.execute(trx);
}
