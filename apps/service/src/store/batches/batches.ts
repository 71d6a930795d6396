import type { BatchKind, BatchStatus, ExecuteResult, InitResult, InitWarning } from '@flywheel/api';
import type { Nonce } from '@solana/kit';
import { sql } from 'kysely';
import {
  type Batch,
  type BatchEvent,
  type BatchWithoutPipelines,
  type EndCause,
  isFinal,
  nextStatus,
} from '../../model/batch.ts';
import type { DailyTotals } from '../../model/project.ts';
import { DamagedRecord } from '../damaged-record.ts';
import { type Db, inTransaction } from '../db.ts';
import { releaseNonce } from '../nonces.ts';
import { releaseDailyAmounts } from '../projects/daily-limits.ts';
import { summarizePipelines } from './batch-records.ts';
import { BATCH_COLUMNS, type BatchRow, PIPELINE_COLUMNS, toBatch, toPipeline, toPipelineRows } from './batch-rows.ts';
import { recordEvent } from './events.ts';

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

/** Counts the open batches and pipelines of a project, of one kind. */
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
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow();
  return { batches: Number(batches), pipelines: Number(pipelines ?? 0n) };
}

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

export async function findBatchByIdempotencyKey(
  db: Db,
  projectId: string,
  key: string,
  kind: BatchKind = 'pipelines',
): Promise<{ readonly batch: Batch; readonly requestHash: Uint8Array; readonly warnings: InitWarning[] } | null> {
  const row = await db
    .selectFrom('batches')
    .select([...BATCH_COLUMNS, 'request_hash', 'warnings'])
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('idempotency_key', '=', key)
    .executeTakeFirst();
  return row ? { batch: await withPipelines(db, row), requestHash: row.request_hash, warnings: row.warnings } : null;
}

/** A batch with its pipelines. With a project or a kind given, null also for another's. */
export async function findBatch(db: Db, batchId: string, projectId?: string, kind?: BatchKind): Promise<Batch | null> {
  const row = await selectBatch(db, batchId, projectId, kind).executeTakeFirst();
  return row ? withPipelines(db, row) : null;
}

/** Reads a batch like `findBatch`, without its pipelines; cheap to poll. */
export async function findBatchWithoutPipelines(
  db: Db,
  batchId: string,
  projectId?: string,
  kind?: BatchKind,
): Promise<BatchWithoutPipelines | null> {
  const row = await selectBatch(db, batchId, projectId, kind).executeTakeFirst();
  return row ? toBatch(row) : null;
}

/** The newest batch of pipelines that is open; only if there is none, the newest that ended after `endedAfter`. */
export async function findCurrentBatch(
  db: Db,
  projectId: string,
  endedAfter: Date,
): Promise<BatchWithoutPipelines | null> {
  const row = await db
    .selectFrom('batches')
    .select(BATCH_COLUMNS)
    .where('project_id', '=', projectId)
    .where('kind', '=', 'pipelines')
    .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>', endedAfter)]))
    .orderBy((eb) => eb('ended_at', 'is', null), 'desc')
    .orderBy('batch_index', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? toBatch(row) : null;
}

/** A page of a project's batches, newest first: those below a batch index, of a kind, if one is given. */
export async function findBatches(
  db: Db,
  projectId: string,
  {
    status,
    kind,
    below,
    limit,
  }: {
    readonly status: BatchStatus | undefined;
    readonly kind?: BatchKind | undefined;
    readonly below: bigint | null;
    readonly limit: number;
  },
): Promise<BatchWithoutPipelines[]> {
  let query = db.selectFrom('batches').select(BATCH_COLUMNS).where('project_id', '=', projectId);
  if (status !== undefined) query = query.where('status', '=', status);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (below !== null) query = query.where('batch_index', '<', below);
  return (await query.orderBy('batch_index', 'desc').limit(limit).execute()).map(toBatch);
}

/** Those of a flywheel that are not on chain yet, up to an index, in the order in which the chain takes them. */
export async function findBatchesToSetUp(db: Db, flywheelId: string, upToIndex: bigint): Promise<Batch[]> {
  const rows = await db
    .selectFrom('batches')
    .select(BATCH_COLUMNS)
    .where('flywheel_id', '=', flywheelId)
    .where('status', '=', 'AVAILABLE_TO_QUEUE')
    .where('batch_index', '<=', upToIndex)
    .orderBy('batch_index')
    .execute();
  return Promise.all(rows.map((row) => withPipelines(db, row)));
}

/** The batch is on chain whole. False when that was known, or the batch has ended. */
export async function finalizeBatch(db: Db, batchId: string, initResult: InitResult, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({
        status: nextStatus('AVAILABLE_TO_QUEUE', 'SETUP_LANDED'),
        init_result: JSON.stringify(initResult),
        // What has kept it from being set up is over.
        execution_error: null,
        finalized_at: now,
        updated_at: now,
      })
      .where('id', '=', batchId)
      .where('status', '=', 'AVAILABLE_TO_QUEUE')
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await recordEvent(trx, batchId, { type: 'batch.finalized', at: now });
    return true;
  });
}

export interface BatchEnd {
  readonly event: Exclude<BatchEvent, 'SETUP_LANDED'>;
  /** `executed` or `failed`, by the event, unless it is given. */
  readonly cause?: EndCause;
  readonly initResult?: InitResult;
  readonly executeResult?: ExecuteResult;
  /** Amounts that a failed batch returns to the limits of its day. */
  readonly released: DailyTotals;
}

/**
 * Ends a batch, once: false, and nothing changed, when it has ended before. In the same transaction its nonce goes back
 * to be refreshed, and a batch that failed gives what it did not use back to the day it came from.
 * @throws Error for an event that the batch's status does not know.
 */
export async function endBatch(db: Db, batchId: string, end: BatchEnd, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const batch = await trx
      .selectFrom('batches')
      .select(['project_id', 'status', 'reserved_day'])
      .where('id', '=', batchId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    if (isFinal(batch.status)) return false;

    const status = nextStatus(batch.status, end.event);
    const { initResult, executeResult, released, cause = status === 'EXECUTED' ? 'executed' : 'failed' } = end;
    await trx
      .updateTable('batches')
      .set({
        status,
        updated_at: now,
        ended_at: now,
        end_cause: cause,
        ...(initResult && { init_result: JSON.stringify(initResult) }),
        ...(executeResult && { execute_result: JSON.stringify(executeResult) }),
        execution_error: null,
      })
      .where('id', '=', batchId)
      .execute();
    await recordEvent(trx, batchId, endEvent(end, status, now));
    await releaseNonce(trx, batchId);
    if (status === 'FAILED') {
      await releaseDailyAmounts(trx, batch.project_id, batch.reserved_day, released);
    }
    return true;
  });
}

function endEvent({ cause, initResult, executeResult }: BatchEnd, status: BatchStatus, at: Date) {
  const message = executeResult?.failedTxMsg ?? initResult?.failedTxMsg;
  const failure = cause === 'expired' ? 'batch.expired' : 'batch.failed';
  return {
    type: status === 'EXECUTED' ? 'batch.executed' : failure,
    at,
    ...(executeResult && { executedPipelines: executeResult.totalSuccessful }),
    ...(status === 'FAILED' && message !== undefined && { error: { message } }),
  } as const;
}

/** The value that the approval is rebuilt on, after the chain moved the batch's nonce. Nothing for one that ended. */
export async function updateNonceValue(db: Db, batchId: string, value: Nonce): Promise<void> {
  await inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({ nonce_value: value })
      .where('id', '=', batchId)
      .where('ended_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await trx.updateTable('nonces').set({ value }).where('batch_id', '=', batchId).execute();
  });
}

/** Those of the given proof hashes (hex) that the project has used before. */
export async function findSeenProofs(
  db: Db,
  projectId: string,
  proofHashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const hashes = proofHashes.map((hash) => Buffer.from(hash, 'hex'));
  const rows = await db
    .selectFrom('pipelines')
    .select('proof_hash')
    .distinct()
    .where('project_id', '=', projectId)
    .where(sql<boolean>`proof_hash = any(${hashes}::bytea[])`)
    .execute();
  return new Set(rows.map(({ proof_hash }) => Buffer.from(proof_hash).toString('hex')));
}

function selectBatch(db: Db, batchId: string, projectId: string | undefined, kind: BatchKind | undefined) {
  let query = db.selectFrom('batches').select(BATCH_COLUMNS).where('id', '=', batchId);
  if (projectId !== undefined) query = query.where('project_id', '=', projectId);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  return query;
}

/**
 * Pipelines never change, so reading them apart from their batch reads nothing inconsistent.
 * @throws DamagedRecord where one is broken or missing: a batch is executed when all of its pipelines are.
 */
async function withPipelines(db: Db, row: BatchRow): Promise<Batch> {
  const pipelines = await db
    .selectFrom('pipelines')
    .select(PIPELINE_COLUMNS)
    .where('batch_id', '=', row.id)
    .orderBy('position')
    .execute();
  if (pipelines.length !== row.pipeline_count) {
    throw new DamagedRecord(`batch ${row.id}`, `${pipelines.length} of its ${row.pipeline_count} pipelines are there`);
  }
  return { ...toBatch(row), pipelines: pipelines.map(toPipeline) };
}
