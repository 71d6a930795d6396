import type { InitWarning } from '@flywheel/api';
import { sql } from 'kysely';
import type { Batch } from '../../model/batch.ts';
import type { DailyTotals } from '../../model/project.ts';
import type { Db } from '../db.ts';
import { summarizePipelines } from './batch-records.ts';
import { toPipelineRows } from './batch-rows.ts';
import { recordEvent } from './events.ts';
import type { Exposure } from './exposure.ts';

/** What a new batch takes of limits and caps. */
export interface Reserved {
  /** The UTC day whose limits the amounts are taken from. */
  readonly day: string;
  readonly totals: DailyTotals;
  readonly exposure: Exposure;
}

/** What identifies the request that creates a batch. */
export interface BatchOrigin {
  readonly idempotencyKey: string;
  readonly requestHash: Uint8Array;
  /** The API key; null for the console. */
  readonly keyId: string | null;
}

/** Stores a new batch with its pipelines and its first event. */
export async function insertBatch(
  trx: Db,
  batch: Batch,
  { idempotencyKey, requestHash, keyId }: BatchOrigin,
  { day, totals, exposure }: Reserved,
  warnings: readonly InitWarning[],
): Promise<void> {
  await trx
    .insertInto('batches')
    .values({
      id: batch.id,
      project_id: batch.projectId,
      flywheel_id: batch.flywheelId,
      token_id: batch.tokenId,
      kind: batch.kind,
      batch_index: batch.batchIndex,
      status: batch.status,
      idempotency_key: idempotencyKey,
      request_hash: requestHash,
      key_id: keyId,
      pipeline_count: batch.pipelines.length,
      burn_amount: totals.burnBaseUnits,
      airdrop_amount: totals.airdropBaseUnits,
      reserved_day: day,
      locked_lamports: exposure.lockedLamports,
      reserved_lamports: exposure.spendLamports,
      nonce_address: batch.nonce.address,
      nonce_value: batch.nonce.value,
      warnings: JSON.stringify(warnings),
      ...summarizePipelines(batch.pipelines),
      created_at: batch.createdAt,
      updated_at: batch.updatedAt,
    })
    .execute();
  const rows = await toPipelineRows(batch);
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await trx
      .insertInto('pipelines')
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .execute();
  }
  await recordEvent(trx, batch.id, { type: 'batch.initialized', at: batch.createdAt });
}

/** A statement of a thousand rows takes the thread that answers everyone 30 ms. */
const ROWS_AT_ONCE = 100;

/** Locks a flywheel's row until the transaction ends, so that its batches are created one after another. */
export async function lockFlywheel(trx: Db, flywheelId: string): Promise<void> {
  await trx
    .selectFrom('flywheels')
    .select('id')
    .where('id', '=', flywheelId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

/** Takes the next batch index of a flywheel. Locks its row until the transaction ends; a rollback leaves no gap. */
export async function takeBatchIndex(trx: Db, flywheelId: string): Promise<bigint> {
  const { last_batch_index } = await trx
    .updateTable('flywheels')
    .set({ last_batch_index: sql`last_batch_index + 1` })
    .where('id', '=', flywheelId)
    .returning('last_batch_index')
    .executeTakeFirstOrThrow();
  return last_batch_index;
}
