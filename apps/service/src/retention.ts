import type { Log } from './batches/deps.ts';
import type { Db } from './store/db.ts';
import {
  addPartitions,
  dropPartition,
  moveWaitingDeliveries,
  type PartitionedTable,
  TableBusy,
} from './store/partitions.ts';

/** Days for which rows are kept at least. They leave with their month, so up to a month later. */
export interface Retention {
  readonly eventDays: number;
  readonly deliveryDays: number;
}

export interface RetentionDeps {
  readonly db: Db;
  readonly log: Pick<Log, 'info'>;
  readonly retention: Retention;
  /** Time of the database by default. */
  readonly present?: Date;
}

/**
 * Job `keep-partitions`: adds the partitions of the next months, and drops those whose rows are all older than the
 * settings keep them. Deliveries that still wait are kept, however old.
 */
export async function keepPartitions(deps: RetentionDeps): Promise<void> {
  const { db, log, retention, present } = deps;
  const added = await addPartitions(db, present);
  if (added.length > 0) log.info({ partitions: added }, 'partitions are added');
  const waiting = { keepDays: retention.deliveryDays, limit: MOVED_AT_ONCE, ...(present && { present }) };
  while ((await moveWaitingDeliveries(db, waiting)) === MOVED_AT_ONCE);
  await dropPartitions(deps, 'webhook_deliveries', retention.deliveryDays);
  await dropPartitions(deps, 'batch_events', retention.eventDays);
}

/** A statement that moves this many rows takes a fraction of a second. */
const MOVED_AT_ONCE = 1_000;

async function dropPartitions(
  { db, log, present }: RetentionDeps,
  table: PartitionedTable,
  keepDays: number,
): Promise<void> {
  try {
    for (;;) {
      const dropped = await dropPartition(db, table, keepDays, present);
      if (dropped === null) return;
      log.info({ partition: dropped, keepDays }, 'a partition is dropped');
    }
  } catch (error) {
    if (!(error instanceof TableBusy)) throw error;
    log.info({ err: error, table }, 'old partitions are dropped by a later job');
  }
}
