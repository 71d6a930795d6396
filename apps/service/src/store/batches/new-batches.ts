import type { BatchKind, InitWarning } from '@flywheel/api';
import { sql } from 'kysely';
import type { Batch } from '../../model/batch.ts';
import type { DailyTotals } from '../../model/project.ts';
import type { Db } from '../db.ts';
import { summarizePipelines } from './batch-records.ts';
import { toPipelineRows } from './batch-rows.ts';
import { recordEvent } from './events.ts';

/** Stores a new batch with its pipelines and its first event. */
export async function insertBatch(
  trx: Db,
  batch: Batch,
  idempotency: { readonly key: string; readonly requestHash: Uint8Array },
  reserved: { readonly day: string; readonly totals: DailyTotals },
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
      idempotency_key: idempotency.key,
      request_hash: idempotency.requestHash,
      pipeline_count: batch.pipelines.length,
      burn_amount: reserved.totals.burnBaseUnits,
      airdrop_amount: reserved.totals.airdropBaseUnits,
      reserved_day: reserved.day,
      nonce_address: batch.nonce.address,
      nonce_value: batch.nonce.value,
      warnings: JSON.stringify(warnings),
      ...summarizePipelines(batch.pipelines),
      created_at: batch.createdAt,
      updated_at: batch.updatedAt,
    })
    .execute();
  await trx
    .insertInto('pipelines')
    .values(await toPipelineRows(batch))
    .execute();
  await recordEvent(trx, batch.id, { type: 'batch.initialized', at: batch.createdAt });
}

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

/**
 * Counts the open batches and pipelines of a project, of one kind. An executed batch counts until its end is finalized: a
 * fork can make the operator pay its rent again.
 */
export async function countOpen(
  db: Db,
  projectId: string,
  kind: BatchKind = 'pipelines',
): Promise<{ readonly batches: number; readonly pipelines: number }> {
  const { batches, pipelines } = await db
    .selectFrom('batches')
    .select((eb) => [
      eb.fn.countAll<bigint>().as('batches'),
      eb.fn.sum<bigint | null>('pipeline_count').as('pipelines'),
    ])
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('end_finalized_at', 'is', null)
    .executeTakeFirstOrThrow();
  return { batches: Number(batches), pipelines: Number(pipelines ?? 0n) };
}
