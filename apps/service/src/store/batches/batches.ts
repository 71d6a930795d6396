import {
  type BatchKind,
  type BatchStatus,
  type EndCause,
  type ExecuteResult,
  type InitResult,
  type InitWarning,
  isFinalStatus,
} from '@flywheel/api';
import { type Batch, type BatchTransition, type BatchWithoutPipelines, nextStatus } from '../../model/batch.ts';
import type { DailyTotals } from '../../model/project.ts';
import { DamagedRecord } from '../damaged-record.ts';
import { type Db, inTransaction } from '../db.ts';
import { releaseNonce } from '../nonces.ts';
import { releaseDailyAmounts } from '../projects/daily-limits.ts';
import { contentsOf } from './archive.ts';
import {
  BATCH_COLUMNS,
  type BatchRow,
  PIPELINE_COLUMNS,
  PIPELINE_CONTENTS,
  toBatch,
  toPipeline,
} from './batch-rows.ts';
import { recordEvent } from './events.ts';

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

/** Reads a batch with its pipelines; null also for another project's or another kind's if one is given. */
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

/** Finds the newest open batch of pipelines; if there is none, the newest that ended after `endedAfter`. */
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

/** Reads a page of a project's batches, newest first, below a batch index, of one status or kind if given. */
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

/** Finds the ids of a flywheel's batches that are not yet on chain, up to an index, in the order in which the chain needs them. */
export async function findIdsToSetUp(
  db: Db,
  flywheelId: string,
  { upToIndex, reachedIndex }: { readonly upToIndex: bigint; readonly reachedIndex: bigint },
): Promise<string[]> {
  const ofFlywheel = db
    .selectFrom('batches')
    .select(['id', 'batch_index'])
    .where('flywheel_id', '=', flywheelId)
    .where('batch_index', '<=', upToIndex);
  // Two parts, so that an index leads to the few batches of each.
  const rows = await ofFlywheel
    .where('status', '=', 'AVAILABLE_TO_QUEUE')
    .where('batch_index', '<=', reachedIndex)
    .where('closed_at', 'is', null)
    // Set up before, but the chain has not reached its index: a fork took the setup away.
    .unionAll(ofFlywheel.where('batch_index', '>', reachedIndex).where('status', '!=', 'FAILED'))
    .orderBy('batch_index')
    .execute();
  return rows.map(({ id }) => id);
}

/** Records that a batch is completely set up on chain. @returns false if that was recorded, or the batch has ended. */
export async function finalizeBatch(db: Db, batchId: string, initResult: InitResult, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({
        status: nextStatus('AVAILABLE_TO_QUEUE', 'SETUP_LANDED'),
        init_result: JSON.stringify(initResult),
        // An issue of the setup is solved.
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

/** Reads the warnings with which init has answered. */
export async function findWarnings(db: Db, batchId: string): Promise<readonly InitWarning[]> {
  const { warnings } = await db
    .selectFrom('batches')
    .select('warnings')
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  return warnings;
}

export interface BatchEnd {
  readonly transition: Exclude<BatchTransition, 'SETUP_LANDED'>;
  /** By default `executed` or `failed`, by the new status. */
  readonly cause?: EndCause;
  readonly initResult?: InitResult;
  readonly executeResult?: ExecuteResult;
  /** Amounts that a failed batch returns to the limits of its day. */
  readonly released: DailyTotals;
}

/**
 * Ends a batch once; returns false, and changes nothing, if it has already ended. Only EXECUTION_UNDONE changes an end:
 * EXECUTED becomes FAILED if the cluster has not finalized it. The transaction that makes a batch FAILED returns its nonce,
 * and its unused amounts to the day of their reservation.
 * @throws Error for a transition that the batch's status does not allow.
 */
export async function endBatch(db: Db, batchId: string, end: BatchEnd, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const batch = await trx
      .selectFrom('batches')
      .select(['project_id', 'status', 'reserved_day'])
      .where('id', '=', batchId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const isUndone = batch.status === 'EXECUTED' && end.transition === 'EXECUTION_UNDONE';
    if (isFinalStatus(batch.status) && !isUndone) return false;

    const status = nextStatus(batch.status, end.transition);
    const { initResult, executeResult, released, cause = status === 'EXECUTED' ? 'executed' : 'failed' } = end;
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({
        status,
        updated_at: now,
        ended_at: now,
        end_cause: cause,
        ...(initResult && { init_result: JSON.stringify(initResult) }),
        ...(executeResult && { execute_result: JSON.stringify(executeResult) }),
        execution_error: null,
        // FAILED is decided by what is finalized. EXECUTED is shown before.
        end_finalized_at: status === 'FAILED' ? now : null,
      })
      .where('id', '=', batchId)
      .where('end_finalized_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await recordEvent(trx, batchId, endEvent(end, status, now));
    if (status === 'FAILED') {
      await releaseNonce(trx, batchId);
      await releaseDailyAmounts(trx, batch.project_id, batch.reserved_day, released);
    }
    return true;
  });
}

/**
 * Records that the cluster has finalized the execution of a batch, with its result as it is then, and returns its nonce,
 * which may be needed until then: a fork can take the approval away. Does nothing if it was recorded before.
 */
export async function finalizeExecution(
  db: Db,
  batchId: string,
  executeResult: ExecuteResult,
  now: Date,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({ end_finalized_at: now, execute_result: JSON.stringify(executeResult) })
      .where('id', '=', batchId)
      .where('status', '=', 'EXECUTED')
      .where('end_finalized_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 1n) await releaseNonce(trx, batchId);
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

function selectBatch(db: Db, batchId: string, projectId: string | undefined, kind?: BatchKind) {
  let query = db.selectFrom('batches').select(BATCH_COLUMNS).where('id', '=', batchId);
  if (projectId !== undefined) query = query.where('project_id', '=', projectId);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  return query;
}

/**
 * Adds the pipelines of a batch. They never change, so a second query reads a consistent state.
 * @throws DamagedRecord if one is damaged or missing: a batch is executed when all of its pipelines are.
 */
async function withPipelines(db: Db, row: BatchRow): Promise<Batch> {
  const pipelines = await db
    .selectFrom(contentsOf(PIPELINE_CONTENTS))
    .select(PIPELINE_COLUMNS)
    .where('batch_id', '=', row.id)
    .orderBy('position')
    .execute();
  if (pipelines.length !== row.pipeline_count) {
    throw new DamagedRecord(`batch ${row.id}`, `${pipelines.length} of its ${row.pipeline_count} pipelines are stored`);
  }
  return { ...toBatch(row), pipelines: pipelines.map(toPipeline) };
}
