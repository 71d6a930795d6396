import type { Approvals, BatchStatus, WaitsFor } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { type ExpressionBuilder, type RawBuilder, type Selectable, sql } from 'kysely';
import type { BatchWithoutPipelines, CompiledPipeline } from '../../model/batch.ts';
import { type ApprovalCount, approvalCountsSql, awaitsCompanySql, openBatchWaitsForSql } from '../batch-waits.ts';
import type { Db } from '../db.ts';
import type { BatchesTable, Schema } from '../schema.ts';
import { BATCH_COLUMNS, toBatch } from './batch-rows.ts';

/** A batch with everything that its timeline shows, and only counts of its pipelines. */
export interface BatchRecord extends BatchWithoutPipelines, BatchSummary {
  readonly finalizedAt: Date | null;
  /** Time at which the wallet's signed approval arrived; null also for batches of older releases. */
  readonly signedAt: Date | null;
  readonly hasBegun: boolean;
  readonly company: CompanyDecision;
  /** Null unless the batch waits for another operator. */
  readonly partialApproval: PartialApproval | null;
  readonly waitsFor: WaitsFor;
  readonly closedAt: Date | null;
}

export interface BatchSummary {
  readonly pipelineCount: number;
  readonly types: readonly string[];
  readonly actions: { readonly burn: number; readonly airdrop: number; readonly memo: number };
}

/** A manual approval for the company; all null if none was requested. */
export interface CompanyDecision {
  readonly askedAt: Date | null;
  readonly decidedAt: Date | null;
  readonly operator: Address | null;
  /** Reason of a rejection; null if approved. */
  readonly reason: string | null;
}

/** An operator's approval of a batch that another one must approve as well. */
export interface PartialApproval {
  readonly operator: Address;
  readonly approvals: Approvals;
}

/** A batch as a list shows it. */
export interface ListedBatch
  extends BatchSummary,
    Pick<
      BatchRecord,
      | 'id'
      | 'kind'
      | 'waitsFor'
      | 'batchIndex'
      | 'status'
      | 'endCause'
      | 'createdAt'
      | 'updatedAt'
      | 'endedAt'
      | 'executionError'
    > {
  readonly burnBaseUnits: bigint;
  readonly airdropBaseUnits: bigint;
  readonly executedPipelines: number;
  /** Fees, tips and rent out, less returned rent, in the ledger. */
  readonly operatorLamports: bigint;
  /** The part of them that is rent out, less returned rent. */
  readonly lockedLamports: bigint;
  readonly failedTxMsg: string | null;
}

/** Reads a batch; null also for another project's. */
export async function findBatchRecord(
  db: Db,
  batchId: string,
  projectId: string,
  count: ApprovalCount,
): Promise<BatchRecord | null> {
  const row = await db
    .selectFrom('batches')
    .select([...BATCH_COLUMNS, ...SUMMARY_COLUMNS, 'finalized_at', 'signed_at', 'execution_began_at'])
    .select(['company_operator', 'company_reason', 'closed_at'])
    .select([waitsForSql.as('waits_for'), partialApprovalSql(count).as('partial_approval')])
    .where('id', '=', batchId)
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  if (!row) return null;
  return {
    ...toBatch(row),
    ...toSummary(row),
    finalizedAt: row.finalized_at,
    signedAt: row.signed_at,
    hasBegun: row.execution_began_at !== null,
    company: {
      askedAt: row.company_asked_at,
      decidedAt: row.company_decided_at,
      operator: row.company_operator,
      reason: row.company_reason,
    },
    partialApproval: row.partial_approval,
    waitsFor: row.waits_for,
    closedAt: row.closed_at,
  };
}

export interface ListFilter {
  readonly status: BatchStatus | undefined;
  readonly waitsFor: 'wallet' | 'company' | undefined;
  readonly batchIndex: bigint | undefined;
  readonly batchId: string | undefined;
  /** Only batches below this batch index. */
  readonly below: bigint | null;
  readonly limit: number;
}

/**
 * Reads a page of a project's batches, newest first, in one statement that reads only the page's rows of each table.
 */
export async function listBatchRecords(db: Db, projectId: string, filter: ListFilter): Promise<ListedBatch[]> {
  const rows = await batchListQuery(db, projectId, filter).execute();
  return rows.map(toListed);
}

/** Converts a row of `selectListed`. */
export function toListed(row: ListedRow): ListedBatch {
  return {
    id: row.id,
    kind: row.kind,
    batchIndex: row.batch_index,
    status: row.status,
    endCause: row.end_cause,
    ...toSummary(row),
    waitsFor: row.waits_for,
    burnBaseUnits: row.burn_amount,
    airdropBaseUnits: row.airdrop_amount,
    executedPipelines: row.executed ?? Number(row.landed ?? 0n),
    operatorLamports: (row.paid_lamports ?? 0n) + (row.locked_lamports ?? 0n),
    lockedLamports: row.locked_lamports ?? 0n,
    executionError: row.execution_error,
    failedTxMsg: row.failed_message,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at,
  };
}

type ListedRow = Awaited<ReturnType<ReturnType<typeof selectListed>['executeTakeFirstOrThrow']>>;

/** Summary of a batch's pipelines, stored with its row. */
export function summarizePipelines(pipelines: readonly Pick<CompiledPipeline, 'type' | 'actions'>[]) {
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const count = (kind: (typeof actions)[number]['action']) => actions.filter(({ action }) => action === kind).length;
  return {
    types: [...new Set(pipelines.map(({ type }) => type))].slice(0, MAX_TYPES),
    burn_count: count('BURN'),
    airdrop_count: count('AIRDROP'),
    memo_count: count('MEMO'),
  };
}

/** Number of types that a row of a list can show. */
const MAX_TYPES = 5;

const SUMMARY_COLUMNS = ['pipeline_count', 'types', 'burn_count', 'airdrop_count', 'memo_count'] as const;

function toSummary(row: Pick<Selectable<BatchesTable>, (typeof SUMMARY_COLUMNS)[number]>): BatchSummary {
  return {
    pipelineCount: row.pipeline_count,
    types: row.types,
    actions: { burn: row.burn_count, airdrop: row.airdrop_count, memo: row.memo_count },
  };
}

/** Filter of `listBatchRecords`. */
export function batchListQuery(db: Db, projectId: string, filter: ListFilter) {
  const { status, waitsFor, batchIndex, batchId, below, limit } = filter;
  let query = selectListed(db).where('project_id', '=', projectId).orderBy('batch_index', 'desc').limit(limit);
  if (status !== undefined) query = query.where('status', '=', status);
  // The conditions on plain columns let an index find the few rows; the expression decides.
  if (waitsFor === 'wallet') query = query.where('status', '=', 'FINALIZED');
  if (waitsFor !== undefined) query = query.where(waitsForSql, '=', waitsFor).where('ended_at', 'is', null);
  if (batchIndex !== undefined) query = query.where('batch_index', '=', batchIndex);
  if (batchId !== undefined) query = query.where('batches.id', '=', batchId);
  if (below !== null) query = query.where('batch_index', '<', below);
  return query;
}

/** Selects the columns of a list of batches, without a filter. */
export function selectListed(db: Db) {
  return db
    .selectFrom('batches')
    .select(['batches.id', 'kind', 'batch_index', 'status', ...SUMMARY_COLUMNS, 'burn_amount', 'airdrop_amount'])
    .select(['execution_error', 'batches.created_at', 'updated_at', 'ended_at', 'end_cause'])
    .select((eb) => [
      waitsForSql.as('waits_for'),
      sql<number | null>`(execute_result->>'totalSuccessful')::integer`.as('executed'),
      sql<string | null>`coalesce(execute_result->>'failedTxMsg', init_result->>'failedTxMsg')`.as('failed_message'),
      landedPipelines(eb).as('landed'),
      sumOfLedger(eb, sql`fee_lamports + tip_lamports`).as('paid_lamports'),
      sumOfLedger(eb, sql`rent_out_lamports - rent_back_lamports`).as('locked_lamports'),
    ]);
}

const waitsForSql: RawBuilder<WaitsFor> = sql`
  case
    when closed_at is not null then 'nothing'
    -- What never came on chain leaves nothing to close. The limit keeps the planner from hashing every bundle there is.
    when ended_at is not null then
      coalesce((select 'close' from bundles where batch_id = batches.id limit 1), 'nothing')
    else ${openBatchWaitsForSql}
  end`;

/** Reads the newest approval of a waiting batch that counts and was not enough. */
export function partialApprovalSql(count: ApprovalCount): RawBuilder<PartialApproval | null> {
  return sql`
    case when ${awaitsCompanySql} and ended_at is null then (
      select data from batch_events
      where batch_events.batch_id = batches.id and type = 'batch.company_approval_received' and exists (
        select from company_decisions
        where company_decisions.batch_id = batches.id and operator = batch_events.data->>'operator'
          and ${approvalCountsSql(count)}
      )
      order by id desc limit 1
    ) end`;
}

/** Counts the pipelines in the landed transactions of a batch in execution. An ended batch stores the number. */
function landedPipelines(eb: ExpressionBuilder<Schema, 'batches'>) {
  return eb
    .selectFrom('bundles')
    .innerJoinLateral(
      () =>
        sql<{ signature: string; pipelines: number }>`unnest(bundles.signatures, bundles.pipeline_counts)`.as<'sent'>(
          sql`sent (signature, pipelines)`,
        ),
      (join) => join.onTrue(),
    )
    .select((inner) => inner.fn.sum<bigint | null>('sent.pipelines').as('landed'))
    .whereRef('bundles.batch_id', '=', 'batches.id')
    .where('bundles.phase', '=', 'execution')
    .where(sql<boolean>`batches.ended_at is null`)
    .where(sql<boolean>`sent.signature = any(bundles.landed_signatures)`);
}

function sumOfLedger(eb: ExpressionBuilder<Schema, 'batches'>, lamports: RawBuilder<unknown>) {
  return eb
    .selectFrom('ledger_entries')
    .select(sql<bigint | null>`sum(${lamports})`.as('lamports'))
    .whereRef('ledger_entries.batch_id', '=', 'batches.id');
}
