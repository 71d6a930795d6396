import type { Clock } from './model/clock.ts';
import type { Log } from './model/log.ts';
import { findUnpackedIds, packBatch } from './store/batches/archive.ts';
import { DamagedRecord } from './store/damaged-record.ts';
import type { Db } from './store/db.ts';
import {
  addPartitions,
  dropPartition,
  moveWaitingDeliveries,
  type PartitionedTable,
  TableBusy,
} from './store/partitions.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** Days for which rows are kept as they are. */
export interface Retention {
  /** Minimum. Events and deliveries are dropped by whole months, so they may stay up to a month longer. */
  readonly eventDays: number;
  readonly deliveryDays: number;
  /** After the end of a batch was final; null packs none. */
  readonly archiveDays: number | null;
}

export interface RetentionDeps {
  readonly db: Db;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly metrics: Pick<Metrics, 'partitionsNotDropped'>;
  readonly retention: Pick<Retention, 'eventDays' | 'deliveryDays'>;
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
  { db, log, metrics, present }: RetentionDeps,
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
    metrics.partitionsNotDropped.inc({ table });
    log.warn(
      { err: error, table },
      'old partitions are not dropped yet: a transaction uses the table. The next job tries again',
    );
  }
}

export interface PackingDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Ends the job before the next batch. */
  readonly signal: AbortSignal;
}

/** Job `pack-batches`: packs the oldest batches whose end is final for `archiveDays`, one after another, with pauses. */
export async function packBatches(
  { db, clock, log, signal }: PackingDeps,
  archiveDays: Retention['archiveDays'],
): Promise<void> {
  if (archiveDays === null) return;
  let packed = 0;
  for (const batchId of await findUnpackedIds(db, archiveDays, PACKED_BY_A_JOB)) {
    const began = performance.now();
    try {
      if (await packBatch(db, batchId, archiveDays)) packed += 1;
    } catch (err) {
      if (!(err instanceof DamagedRecord)) throw err;
      log.warn({ err, batchId }, 'a batch is not packed, because its archive would differ from it');
    }
    await clock.sleep((performance.now() - began) * PAUSE_FACTOR, signal).catch(() => undefined);
    if (signal.aborted) break;
  }
  if (packed > 0) log.info({ packed, archiveDays }, 'old batches are packed');
}

/**
 * The largest batches, of 1,000 pipelines, take half a second each: a job ends within the hour after which the queue
 * gives it up.
 */
const PACKED_BY_A_JOB = 2_000;
/** Packing takes a fifth of one connection's time at most. */
const PAUSE_FACTOR = 4;
