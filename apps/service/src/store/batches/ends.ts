import { sql } from 'kysely';
import type { Bundle } from '../../model/batch.ts';
import { type Db, inTransaction } from '../db.ts';
import { recordEvent } from './events.ts';
import { releaseExposure } from './exposure.ts';

/** A batch has ended while a worker was about to send for it, e.g. because a client has cancelled it. */
export class Ended extends Error {
  constructor(batchId: string, phase: Bundle['phase']) {
    super(`Batch ${batchId} is FAILED: nothing is sent for its ${phase}.`);
    this.name = 'Ended';
  }
}

/** Locks a batch and returns true if it is open and no bundle of its execution is recorded. */
export async function lockUnbegun(trx: Db, batchId: string): Promise<boolean> {
  const row = await trx
    .selectFrom('batches')
    .select('id')
    .where('id', '=', batchId)
    .where('ended_at', 'is', null)
    .where('execution_began_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Finds the open batches of an API key that the wallet has not approved, in order. */
export async function findUnapprovedIds(trx: Db, keyId: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('batches')
    .select('id')
    .where('key_id', '=', keyId)
    .where('ended_at', 'is', null)
    .where('signed_tx', 'is', null)
    .where('execution_began_at', 'is', null)
    .orderBy('batch_index')
    .execute();
  return rows.map(({ id }) => id);
}

/** Records that nothing of an ended batch is left on chain: it locks and reserves nothing any more. */
export async function markClosed(db: Db, batchId: string, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({ closed_at: now })
      .where('id', '=', batchId)
      .where('closed_at', 'is', null)
      .executeTakeFirst();
    await releaseExposure(trx, batchId);
    if (numUpdatedRows === 1n) await recordEvent(trx, batchId, { type: 'batch.closed', at: now });
    return numUpdatedRows === 1n;
  });
}

/** Finds the indices of batches that ended before they were created on chain, above the chain's index, in order. */
export async function findDeadIndices(
  db: Db,
  flywheelId: string,
  reached: bigint,
  below: bigint,
): Promise<{ readonly id: string; readonly batchIndex: bigint }[]> {
  const rows = await db
    .selectFrom('batches')
    .select(['id', 'batch_index'])
    .where('flywheel_id', '=', flywheelId)
    .where('status', '=', 'FAILED')
    .where('batch_index', '>', reached)
    .where('batch_index', '<', below)
    .orderBy('batch_index')
    .execute();
  return rows.map(({ id, batch_index }) => ({ id, batchIndex: batch_index }));
}

/** Finds the ids of a flywheel's ended batches whose accounts are not closed, in order. */
export async function findUnclosedIds(db: Db, flywheelId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('batches')
    .select('id')
    .where('flywheel_id', '=', flywheelId)
    .where('ended_at', 'is not', null)
    .where('closed_at', 'is', null)
    .orderBy('batch_index')
    .execute();
  return rows.map(({ id }) => id);
}

/** Raises the last index after others have used indices of the multisig. */
export async function raiseBatchIndex(db: Db, flywheelId: string, reached: bigint): Promise<void> {
  await db
    .updateTable('flywheels')
    .set({ last_batch_index: sql`greatest(last_batch_index, ${reached})` })
    .where('id', '=', flywheelId)
    .execute();
}

export async function isClosed(db: Db, batchId: string): Promise<boolean> {
  const row = await db.selectFrom('batches').select('closed_at').where('id', '=', batchId).executeTakeFirstOrThrow();
  return row.closed_at !== null;
}

/** True if the cluster has finalized the end of a batch: no fork can change it any more. */
export async function isEndFinalized(db: Db, batchId: string): Promise<boolean> {
  const row = await db
    .selectFrom('batches')
    .select('end_finalized_at')
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  return row.end_finalized_at !== null;
}
