import type { ApprovalMode } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { type Db, inTransaction } from '../db.ts';
import { type CompanyDecision, type ListedBatch, selectListed, toListed } from './batch-records.ts';
import { recordEvent } from './events.ts';

/**
 * Marks a requested batch as pending company approval if its project is manual, if it was pending before, or if it is a
 * withdrawal or a rotation, which no limit bounds. Returns true while it has no decision, whatever the project's mode is
 * now. Returns false for a batch that was approved, has started or has ended.
 */
export async function askCompany(db: Db, batchId: string, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const before = await trx
      .selectFrom('batches')
      .select('company_asked_at')
      .where('id', '=', batchId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set((eb) => ({ company_asked_at: eb.fn.coalesce('company_asked_at', eb.val(now)) }))
      .where('id', '=', batchId)
      .where('ended_at', 'is', null)
      .where('signed_tx', 'is not', null)
      .where('execution_began_at', 'is', null)
      .where('company_decided_at', 'is', null)
      .where(({ eb, or, exists, selectFrom }) =>
        or([
          eb('company_asked_at', 'is not', null),
          eb('kind', '!=', 'pipelines'),
          exists(
            selectFrom('projects')
              .select('projects.id')
              .whereRef('projects.id', '=', 'batches.project_id')
              .where('approval_mode', '=', 'manual'),
          ),
        ]),
      )
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    if (before?.company_asked_at === null) {
      await recordEvent(trx, batchId, { type: 'batch.awaiting_company_approval', at: now });
    }
    return true;
  });
}

export interface NewDecision {
  readonly operator: Address;
  /** Reason of a rejection; null for an approval. */
  readonly reason: string | null;
}

/** Decides a batch that waits for the company, once. @returns false, and changes nothing, if it does not wait. */
export async function decideForCompany(
  trx: Db,
  batchId: string,
  { operator, reason }: NewDecision,
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('batches')
    .set({
      company_decided_at: now,
      company_operator: operator,
      company_reason: reason,
      // An issue of the approval is solved.
      execution_error: null,
      updated_at: now,
    })
    .where('id', '=', batchId)
    .where('ended_at', 'is', null)
    .where('company_asked_at', 'is not', null)
    .where('company_decided_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const decision =
    reason === null ? { type: 'batch.company_approved' as const } : { type: 'batch.company_rejected' as const, reason };
  await recordEvent(trx, batchId, { ...decision, at: now, operator });
  return true;
}

/** State of the company's approval of a batch by a person, and the operator who decided. */
export async function findCompanyDecision(db: Db, batchId: string): Promise<CompanyDecision> {
  const row = await db
    .selectFrom('batches')
    .select(['company_asked_at', 'company_decided_at', 'company_operator', 'company_reason'])
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  return {
    askedAt: row.company_asked_at,
    decidedAt: row.company_decided_at,
    operator: row.company_operator,
    reason: row.company_reason,
  };
}

/** Sets a project's approval mode. Returns the previous mode, or null if the project does not exist. */
export async function setApprovalMode(
  trx: Db,
  projectId: string,
  approvalMode: ApprovalMode,
): Promise<ApprovalMode | null> {
  const before = await trx
    .selectFrom('projects')
    .select('approval_mode')
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) return null;
  await trx.updateTable('projects').set({ approval_mode: approvalMode }).where('id', '=', projectId).execute();
  return before.approval_mode;
}

/** A batch that an operator has to decide for the company. */
export interface WaitingBatch extends ListedBatch {
  readonly projectId: string;
  readonly mint: Address;
  readonly decimals: number;
  readonly askedAt: Date;
}

/** Lists the pending batches of all projects, oldest first. */
export async function findWaitingBatches(db: Db, limit: number): Promise<WaitingBatch[]> {
  const rows = await selectListed(db)
    .innerJoin('tokens', 'tokens.id', 'batches.token_id')
    .select(['batches.project_id', 'mint', 'decimals'])
    .where('company_asked_at', 'is not', null)
    .select((eb) => eb.ref('company_asked_at').$notNull().as('asked_at'))
    .where('company_decided_at', 'is', null)
    .where('ended_at', 'is', null)
    .orderBy('company_asked_at')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...toListed(row),
    projectId: row.project_id,
    mint: row.mint,
    decimals: row.decimals,
    askedAt: row.asked_at,
  }));
}
