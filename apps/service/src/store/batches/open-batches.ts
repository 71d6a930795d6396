import type { BatchStatus } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { CompiledPipeline, ExecutionIssue } from '../../model/batch.ts';
import { awaitsCompanySql } from '../batch-waits.ts';
import type { Db } from '../db.ts';
import { contentsOf } from './archive.ts';
import { PIPELINE_COLUMNS, PIPELINE_CONTENTS, toPipeline } from './batch-rows.ts';

/** A batch that has not ended: what it waits for and what it takes from its vault. */
export interface OpenBatch {
  readonly id: string;
  readonly batchIndex: bigint;
  readonly status: BatchStatus;
  /** Amounts that the batch burns and airdrops, executed or not. */
  readonly amountBaseUnits: bigint;
  /** Number of executed pipelines, which are the first ones. */
  readonly executedPipelines: number;
  /** True if the wallet's approval has arrived. */
  readonly isSigned: boolean;
  readonly waitsForCompany: boolean;
  readonly issue: ExecutionIssue | null;
  readonly createdAt: Date;
}

/** Finds the open batches of a project, oldest first. */
export async function findOpenBatches(db: Db, projectId: string): Promise<OpenBatch[]> {
  const rows = await db
    .selectFrom('batches')
    .select(['id', 'batch_index', 'status', 'burn_amount', 'airdrop_amount', 'execution_error', 'created_at'])
    .select((eb) => [
      eb('signed_tx', 'is not', null).as('is_signed'),
      awaitsCompanySql.as('waits_for_company'),
      // Landed transactions of an execution, each with its number of pipelines.
      sql<bigint>`coalesce((
        select sum(sent.pipelines)
        from bundles cross join unnest(bundles.signatures, bundles.pipeline_counts) as sent (signature, pipelines)
        where bundles.batch_id = batches.id and phase = 'execution' and sent.signature = any(landed_signatures)
      ), 0)`.as('executed'),
    ])
    .where('project_id', '=', projectId)
    .where('ended_at', 'is', null)
    .orderBy('batch_index')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    batchIndex: row.batch_index,
    status: row.status,
    amountBaseUnits: row.burn_amount + row.airdrop_amount,
    executedPipelines: Number(row.executed),
    isSigned: Boolean(row.is_signed),
    waitsForCompany: row.waits_for_company,
    issue: row.execution_error,
    createdAt: row.created_at,
  }));
}

/** Finds the pipelines of these batches that are not yet executed. */
export async function findRemainingPipelines(
  db: Db,
  batches: readonly Pick<OpenBatch, 'id' | 'executedPipelines'>[],
): Promise<CompiledPipeline[]> {
  if (batches.length === 0) return [];
  const rows = await db
    .selectFrom(contentsOf(PIPELINE_CONTENTS))
    .select(PIPELINE_COLUMNS)
    .where(
      'batch_id',
      'in',
      batches.map(({ id }) => id),
    )
    .where((eb) =>
      eb.or(
        batches.map(({ id, executedPipelines }) =>
          eb.and([eb('batch_id', '=', id), eb('position', '>=', executedPipelines)]),
        ),
      ),
    )
    .execute();
  return rows.map(toPipeline);
}

/**
 * Finds the token accounts that the pipelines of these batches may create, each once, at most `limit`, those of the
 * first batches first. The database extracts them, because a pipeline's instructions are a hundred times as long.
 */
export async function findTokenAccountsToCreate(
  db: Db,
  batchIds: readonly string[],
  { creator, limit }: { readonly creator: Address; readonly limit: number },
): Promise<Address[]> {
  if (batchIds.length === 0) return [];
  // The accounts of the program that creates them: payer, token account, owner.
  const { rows } = await sql<{ token_account: Address }>`
    select instruction->'accounts'->1->>'address' as token_account
    from unnest(${batchIds}::uuid[]) with ordinality as open (id, place)
    join ${contentsOf(['instructions'])} on batch_id = open.id and batch_id = any(${batchIds}::uuid[])
    cross join json_array_elements(instructions) as instruction
    where instruction->>'programAddress' = ${creator}
    group by token_account
    order by min(place), token_account
    limit ${limit}
  `.execute(db);
  return rows.map(({ token_account }) => token_account);
}

export interface CountedBatches {
  /** Batches below it are over for good: their status never changes. */
  readonly settledBelow: bigint;
  readonly settled: Readonly<Record<BatchStatus, number>>;
  /** From `settledBelow` on. */
  readonly others: Readonly<Record<BatchStatus, number>>;
}

/** Counts a project's batches by status, from a batch index on. */
export async function countBatches(db: Db, projectId: string, from: bigint): Promise<CountedBatches> {
  const { rows } = await sql<{ status: BatchStatus; is_settled: boolean; count: number; settled_below: bigint }>`
    with bound as (
      select coalesce(
        (select min(batch_index) from batches where project_id = ${projectId} and end_finalized_at is null),
        (select last_batch_index + 1 from flywheels where project_id = ${projectId})
      ) as settled_below
    )
    select status, batch_index < settled_below as is_settled, settled_below, count(*)::int as count
    from bound join batches on project_id = ${projectId} and batch_index >= ${from}
    group by status, is_settled, settled_below
  `.execute(db);
  const pick = (isSettled: boolean) => {
    const counts = { AVAILABLE_TO_QUEUE: 0, FINALIZED: 0, EXECUTED: 0, FAILED: 0 };
    for (const { status, is_settled, count } of rows) if (is_settled === isSettled) counts[status] = count;
    return counts;
  };
  return { settledBelow: rows[0]?.settled_below ?? from, settled: pick(true), others: pick(false) };
}
