import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { BatchAction } from '../../model/batch.ts';
import type { Db } from '../db.ts';
import { contentsOf } from './archive.ts';

/** A batch of pipelines, as a dry run of rules judges it. */
export interface PastBatch {
  readonly batchId: string;
  readonly batchIndex: bigint;
  readonly createdAt: Date;
  readonly pipelineCount: number;
  /** Token accounts that the vault has paid for. */
  readonly createdTokenAccounts: number;
}

/** Reads a page of the batches of pipelines that a project has created, newest first, below a batch index if given. */
export async function findPastBatches(
  db: Db,
  projectId: string,
  { below, limit }: { readonly below: bigint | null; readonly limit: number },
): Promise<PastBatch[]> {
  let query = db
    .selectFrom('batches')
    .select([
      'id as batchId',
      'batch_index as batchIndex',
      'created_at as createdAt',
      'pipeline_count as pipelineCount',
    ])
    .select(
      sql<number>`(
        select count(*)::int from created_token_accounts
        where created_token_accounts.batch_id = batches.id and created_token_accounts.created_at is not null
      )`.as('createdTokenAccounts'),
    )
    .where('project_id', '=', projectId)
    .where('kind', '=', 'pipelines')
    .orderBy('batch_index', 'desc')
    .limit(limit);
  if (below !== null) query = query.where('batch_index', '<', below);
  return query.execute();
}

/** A batch of pipelines that was created on a day. */
export interface BatchOfDay {
  readonly batchId: string;
  readonly batchIndex: bigint;
  /** The UTC day of its init, `2026-11-21`. */
  readonly day: string;
  /** Number of executed pipelines of a batch that has ended; null for an open one. */
  readonly executed: number | null;
}

export interface BatchesOfDays {
  /** A UTC day; the next one is read with it, which may have begun meanwhile. */
  readonly firstDay: string;
  /** Only batches with a higher batch index. */
  readonly after: bigint;
  readonly limit: number;
}

/** Locks batches of pipelines that a project has created on a day or the next, in order, so that none ends meanwhile. */
export async function lockBatchesOfDays(
  trx: Db,
  projectId: string,
  { firstDay, after, limit }: BatchesOfDays,
): Promise<BatchOfDay[]> {
  return (
    trx
      .selectFrom('batches')
      .select(['id as batchId', 'batch_index as batchIndex', 'reserved_day as day'])
      .select(
        sql<number | null>`case when ended_at is not null
        then coalesce((execute_result->>'totalSuccessful')::integer, 0) end`.as('executed'),
      )
      .where('project_id', '=', projectId)
      .where('kind', '=', 'pipelines')
      // Two days, not all from the first one on: for a range of unknown length the planner would read all batches in their order.
      .where(sql<boolean>`reserved_day in (${firstDay}::date, ${firstDay}::date + 1)`)
      .where('batch_index', '>', after)
      .orderBy('batch_index')
      .limit(limit)
      .forNoKeyUpdate()
      .execute()
  );
}

/**
 * Locks the batches of a project whose end may still change, until the transaction ends. An end locks its batch and
 * then the sums of the day, so a transaction that counts several batches locks them all before it counts the first.
 */
export async function lockUnfinishedBatches(trx: Db, projectId: string): Promise<void> {
  await trx
    .selectFrom('batches')
    .select('id')
    .where('project_id', '=', projectId)
    .where('end_finalized_at', 'is', null)
    .orderBy('batch_index')
    .forNoKeyUpdate()
    .execute();
}

/** Reads what the pipelines of batches do, in order. */
export async function findPastPipelines(
  db: Db,
  batchIds: readonly string[],
): Promise<{ readonly batchId: string; readonly type: string; readonly actions: readonly BatchAction[] }[]> {
  if (batchIds.length === 0) return [];
  const rows = await db
    .selectFrom(contentsOf(['type', 'actions']))
    .select(['batch_id as batchId', 'type', 'actions'])
    .where('batch_id', 'in', [...batchIds])
    .orderBy('batch_id')
    .orderBy('position')
    .execute();
  return rows;
}

/** What a project has done before a batch. */
export interface Precedents {
  /** Recipients whom an executed batch has paid. */
  readonly paid: ReadonlySet<Address>;
  /** False if only the newest batches were read. */
  readonly isWhole: boolean;
  /** Burned and airdropped by the largest other batch that was executed, base units; null if there is none. */
  readonly largestBaseUnits: bigint | null;
}

/** Reading the recipients of one pipeline takes about 3 µs: 12 ms, as long as the rest of a review. */
const MAX_PIPELINES_READ = 4_000;
const MAX_BATCHES_READ = 1_000;

/** Reads the executed batches of a project, without the given one. */
export async function findPrecedents(
  db: Db,
  { projectId, batchId }: { readonly projectId: string; readonly batchId: string },
): Promise<Precedents> {
  const executed = db
    .selectFrom('batches')
    .where('project_id', '=', projectId)
    // The index that finds the largest batch has the same condition.
    .where(sql<boolean>`status = 'EXECUTED' and kind = 'pipelines'`)
    .where('id', '!=', batchId);
  const amount = sql<bigint>`burn_amount + airdrop_amount`;
  const largest = await executed.select(amount.as('moved')).orderBy(amount, 'desc').limit(1).executeTakeFirst();
  const newest = await executed
    .select(['id', 'pipeline_count'])
    .orderBy('batch_index', 'desc')
    .limit(MAX_BATCHES_READ + 1)
    .execute();
  let pipelines = 0;
  const read = newest.slice(0, MAX_BATCHES_READ).filter(({ pipeline_count }) => {
    pipelines += pipeline_count;
    return pipelines <= MAX_PIPELINES_READ;
  });
  const ids = read.map(({ id }) => id);
  const { rows } = await sql<{ recipient: Address }>`
    select distinct action->>'toAddress' as recipient
    from ${contentsOf(['actions'])}, json_array_elements(actions) as action
    where batch_id = any(${sql.val(ids)}::uuid[]) and action->>'toAddress' is not null
  `.execute(db);
  const paid = new Set(rows.map(({ recipient }) => recipient));
  return { paid, isWhole: read.length === newest.length, largestBaseUnits: largest?.moved ?? null };
}
