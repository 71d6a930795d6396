import type { InitWarning } from '@flywheel/api';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import type { Batch } from '../../model/batch.ts';
import type { DailyTotals, Multisig } from '../../model/project.ts';
import { type CountedColumns, type CountedUses, insertUses, toCountedColumns } from '../company/policy-uses.ts';
import type { Db } from '../db.ts';
import { planOnce, prepare, type Slots } from '../prepare.ts';
import type { BatchesTable } from '../schema.ts';
import { summarizePipelines } from './batch-records.ts';
import { toPipelineRows } from './batch-rows.ts';
import type { Exposure } from './exposure.ts';

/** What a new batch takes of limits and caps. */
export interface Reserved {
  /** The UTC day whose limits the amounts are taken from. */
  readonly day: string;
  readonly totals: DailyTotals;
  readonly exposure: Exposure;
  /** The uses that it counts for the company's caps; null if the project has no rules. */
  readonly counted: CountedUses | null;
}

/** What identifies the request that creates a batch. */
export interface BatchOrigin {
  readonly idempotencyKey: string;
  readonly requestHash: Uint8Array;
  /** The API key; null for the console. */
  readonly keyId: string | null;
}

/**
 * Stores a new batch with its pipelines and its first event. That one is not announced: no reader can wait for a batch whose id
 * was not answered yet.
 */
export async function insertBatch(
  trx: Db,
  batch: Batch,
  { idempotencyKey, requestHash, keyId }: BatchOrigin,
  { day, totals, exposure, counted }: Reserved,
  warnings: readonly InitWarning[],
): Promise<void> {
  const rows = await toPipelineRows(batch);
  const values = {
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
    pipelines: JSON.stringify(rows.slice(0, ROWS_AT_ONCE)),
  };
  if (counted === null || counted.uses.length === 0) await insertAll(trx, values);
  else await insertAndCount(trx, { ...values, ...toCountedColumns(counted) });
  for (let from = ROWS_AT_ONCE; from < rows.length; from += ROWS_AT_ONCE) {
    const pipelines = JSON.stringify(rows.slice(from, from + ROWS_AT_ONCE));
    await insertPipelines(trx, { id: batch.id, project_id: batch.projectId, pipelines });
  }
}

/** Returns true if an insert failed because the project has a batch of the same kind and idempotency key. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.constraint === 'batches_idempotency_key';
}

/** A statement of a thousand rows takes the thread that answers everyone 30 ms. */
const ROWS_AT_ONCE = 100;

interface PipelineValues {
  readonly id: string;
  readonly project_id: string;
  /** JSON of `NewPipelineRow`s. */
  readonly pipelines: string;
}

const COLUMNS = [
  ...(['id', 'project_id', 'flywheel_id', 'token_id', 'kind', 'batch_index', 'status', 'idempotency_key'] as const),
  ...(['request_hash', 'key_id', 'pipeline_count', 'burn_amount', 'airdrop_amount', 'reserved_day'] as const),
  ...(['locked_lamports', 'reserved_lamports', 'nonce_address', 'nonce_value', 'warnings', 'types'] as const),
  ...(['burn_count', 'airdrop_count', 'memo_count', 'created_at', 'updated_at'] as const),
] satisfies (keyof BatchesTable)[];

type BatchValues = Pick<Insertable<BatchesTable>, (typeof COLUMNS)[number]> & PipelineValues;

const insertAll = prepare<Required<BatchValues>, never>((_db, slot) => toInsertAll(slot, sql``));

const insertAndCount = prepare<Required<BatchValues> & CountedColumns, never>((_db, slot) =>
  toInsertAll(slot, sql`, counted as (${insertUses(slot)})`),
);

/** @param more statements that run with it, each with a comma before it. */
function toInsertAll(slot: Slots<Required<BatchValues>>, more: RawBuilder<unknown>): RawBuilder<never> {
  const columns = sql.join(COLUMNS.map((name) => sql.ref(name)));
  return sql`
    with batch as (
      insert into batches (${columns}) values (${sql.join(COLUMNS.map((name) => slot(name)))}) returning id, status, created_at
    ), stored as (${toInsert(slot)})${more}
    insert into batch_events (batch_id, type, at, status, data)
    select id, 'batch.initialized', created_at, status, '{}' from batch
  `;
}

const insertPipelines = prepare<PipelineValues, never>((_db, slot) => toInsert(slot));

/** One text for any number of rows, so that it is prepared. */
function toInsert(slot: Slots<PipelineValues>): RawBuilder<never> {
  return sql`
    insert into pipelines (batch_id, project_id, position, type, payload, actions, proof_hash, instructions, vault_message)
    select ${slot('id')}::uuid, ${slot('project_id')}::uuid, position, type, payload, actions::json,
      decode("proofHash", 'hex'), instructions::json, decode("vaultMessage", 'base64')
    from json_to_recordset(${slot('pipelines')}::json) as given (
      position integer, type text, payload text, actions text, "proofHash" text, instructions text, "vaultMessage" text
    )
  `;
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

/** A batch index, and the members of the flywheel's multisig at this moment. */
export interface TakenIndex extends Pick<Multisig, 'operator' | 'company' | 'wallet'> {
  readonly batchIndex: bigint;
}

/**
 * Takes the next batch index of a flywheel. Locks its row until the transaction ends, so that its batches are created one after
 * another; a rollback leaves no gap.
 */
export async function takeBatchIndex(trx: Db, flywheelId: string): Promise<TakenIndex> {
  const [row] = await takeIndex(trx, { flywheelId });
  if (!row) throw new Error(`Flywheel ${flywheelId} does not exist.`);
  const { batchIndex, operator, company, wallet } = row;
  return { batchIndex, operator, company, wallet };
}

const takeIndex = prepare<{ readonly flywheelId: string }, TakenIndex>(
  (_db, slot) => sql`
    update flywheels set last_batch_index = last_batch_index + 1 where id = ${slot('flywheelId')}
    returning last_batch_index as "batchIndex", operator, company, wallet, ${planOnce}
  `,
);
