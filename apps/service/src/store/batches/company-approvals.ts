import type { Approvals } from '@flywheel/api';
import type { SignedDecision } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { type ApprovalCount, approvalCountsSql, awaitsCompanySql } from '../batch-waits.ts';
import type { BatchOnChain } from '../company/totals.ts';
import { type Db, inTransaction } from '../db.ts';
import {
  type CompanyDecision,
  type ListedBatch,
  type PartialApproval,
  partialApprovalSql,
  selectListed,
  toListed,
} from './batch-records.ts';
import { recordEvent } from './events.ts';

/**
 * Marks a requested batch as pending company approval if its project is manual, if it was pending before, or if it is a
 * withdrawal or a rotation, which no limit bounds. Returns true while it has no decision, whatever the project's mode is
 * now. Returns false for a batch that was approved, has started or has ended.
 */
export async function askCompany(db: Db, batchId: string, now: Date): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const asked = await trx
      .updateTable('batches')
      .from((eb) =>
        eb
          .selectFrom('batches')
          .select(['id', 'company_asked_at'])
          .where('id', '=', batchId)
          .forNoKeyUpdate()
          .as('before'),
      )
      .set((eb) => ({ company_asked_at: eb.fn.coalesce('batches.company_asked_at', eb.val(now)) }))
      .whereRef('batches.id', '=', 'before.id')
      .where('ended_at', 'is', null)
      .where('signed_tx', 'is not', null)
      .where('execution_began_at', 'is', null)
      .where('company_decided_at', 'is', null)
      .where(({ eb, or, exists, selectFrom }) =>
        or([
          eb('batches.company_asked_at', 'is not', null),
          eb('kind', '!=', 'pipelines'),
          exists(
            selectFrom('projects')
              .select('projects.id')
              .whereRef('projects.id', '=', 'batches.project_id')
              .where('approval_mode', '=', 'manual'),
          ),
        ]),
      )
      .returning('before.company_asked_at as askedBefore')
      .executeTakeFirst();
    if (asked === undefined) return false;
    if (asked.askedBefore === null) {
      await recordEvent(trx, batchId, { type: 'batch.awaiting_company_approval', at: now });
    }
    return true;
  });
}

/** A decision with what the operator's wallet signed of it. */
export interface SignedCompanyDecision extends SignedDecision {
  readonly operator: Address;
  /** Reason of a rejection; null for an approval. */
  readonly reason: string | null;
  readonly nonce: string;
  readonly expiresAt: Date;
}

/**
 * Decides a batch that waits for the company, once.
 * @returns false, and changes nothing, if it does not wait; `used` if the nonce or the signature was used before, after
 * which the caller must roll back.
 */
export async function decideForCompany(
  trx: Db,
  batchId: string,
  { operator, reason, ...signed }: SignedCompanyDecision,
  now: Date,
): Promise<boolean | 'used'> {
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
    .where(awaitsCompanySql)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (!(await insertDecision(trx, batchId, { operator, reason, ...signed }, now))) return 'used';
  const decision =
    reason === null ? { type: 'batch.company_approved' as const } : { type: 'batch.company_rejected' as const, reason };
  await recordEvent(trx, batchId, { ...decision, at: now, operator });
  return true;
}

/**
 * Stores an approval of a batch that another operator must approve as well.
 * @param approvals those that count with this one; null if its operator had approved before, which causes no event.
 * @returns false if the nonce or the signature was used before, for anything but this approval.
 */
export async function insertPartialApproval(
  trx: Db,
  batchId: string,
  signed: SignedCompanyDecision,
  approvals: Approvals | null,
  now: Date,
): Promise<boolean> {
  const isStored = (await insertDecision(trx, batchId, signed, now)) || (await hasApproval(trx, batchId, signed));
  if (!isStored) return false;
  const { operator } = signed;
  const type = 'batch.company_approval_received';
  if (approvals !== null) await recordEvent(trx, batchId, { type, at: now, operator, approvals });
  return true;
}

/** Returns true if this approval was stored before, by a request that is now sent again. */
async function hasApproval(
  trx: Db,
  batchId: string,
  { operator, nonce, signature }: SignedCompanyDecision,
): Promise<boolean> {
  const row = await trx
    .selectFrom('company_decisions')
    .select('id')
    .where('batch_id', '=', batchId)
    .where('decision', '=', 'approve')
    .where('operator', '=', operator)
    .where('nonce', '=', nonce)
    .where('signature', '=', Buffer.from(signature))
    .executeTakeFirst();
  return row !== undefined;
}

/** Locks a batch that waits for the company until the transaction ends. @returns false if it does not wait. */
export async function lockWaiting(trx: Db, batchId: string): Promise<boolean> {
  const row = await trx
    .selectFrom('batches')
    .select('id')
    .where('id', '=', batchId)
    .where('ended_at', 'is', null)
    .where(awaitsCompanySql)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Lists the operators whose approvals of a batch count. */
export async function findApprovers(db: Db, batchId: string, count: ApprovalCount): Promise<ReadonlySet<Address>> {
  const rows = await db
    .selectFrom('company_decisions')
    .select('operator')
    .where('batch_id', '=', batchId)
    .where(approvalCountsSql(count))
    .execute();
  return new Set(rows.map(({ operator }) => operator));
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

/** Reads the decisions about a batch, newest first, as operators signed them. Any process may have written them. */
export async function findSignedDecisions(db: Db, batchId: string): Promise<SignedCompanyDecision[]> {
  const rows = await db
    .selectFrom('company_decisions')
    .select(['operator', 'reason', 'nonce', 'expires_at as expiresAt', 'signed_message as signedMessage', 'signature'])
    .where('batch_id', '=', batchId)
    .orderBy('id', 'desc')
    .execute();
  return rows;
}

/** Stores what an operator signed about a batch. @returns false if the nonce or the signature was used before. */
async function insertDecision(
  trx: Db,
  batchId: string,
  { operator, reason, ...signed }: SignedCompanyDecision,
  now: Date,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('company_decisions')
    .values({
      batch_id: batchId,
      decision: reason === null ? 'approve' : 'reject',
      reason,
      operator,
      nonce: signed.nonce,
      expires_at: signed.expiresAt,
      signed_message: Buffer.from(signed.signedMessage),
      signature: Buffer.from(signed.signature),
      decided_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Records that the company has rejected a batch. Only workers do, so it stays rejected. */
export async function insertRejection(db: Db, { multisig, batchIndex }: BatchOnChain, reason: string): Promise<void> {
  await db
    .insertInto('company_rejections')
    .values({ multisig, batch_index: batchIndex, reason })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Reads the reason of a recorded rejection; null if there is none. */
export async function findRecordedRejection(db: Db, { multisig, batchIndex }: BatchOnChain): Promise<string | null> {
  const row = await db
    .selectFrom('company_rejections')
    .select('reason')
    .where('multisig', '=', multisig)
    .where('batch_index', '=', batchIndex)
    .executeTakeFirst();
  return row?.reason ?? null;
}

/** Makes a batch wait for the company again: its decision cannot be used. */
export async function askCompanyAgain(trx: Db, batchId: string, now: Date): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('batches')
    .set((eb) => ({
      company_asked_at: eb.fn.coalesce('company_asked_at', eb.val(now)),
      company_decided_at: null,
      company_operator: null,
      company_reason: null,
    }))
    .where('id', '=', batchId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) await recordEvent(trx, batchId, { type: 'batch.awaiting_company_approval', at: now });
}

/** A batch that an operator has to decide for the company. */
export interface WaitingBatch extends ListedBatch {
  readonly projectId: string;
  readonly mint: Address;
  readonly decimals: number;
  readonly askedAt: Date;
  readonly partialApproval: PartialApproval | null;
}

export interface WaitingFilter {
  /** Null lists the batches of all projects. */
  readonly batchId: string | null;
  readonly limit: number;
}

/**
 * Lists pending batches, oldest first. If there are more than `limit`, those of admitted projects come before others, and one
 * of each project before a second of any: anyone may register projects and fill them with batches.
 */
export async function findWaitingBatches(
  db: Db,
  { batchId, limit }: WaitingFilter,
  count: ApprovalCount,
): Promise<WaitingBatch[]> {
  const rows = await selectListed(db)
    .innerJoin('tokens', 'tokens.id', 'batches.token_id')
    .select(['batches.project_id', 'mint', 'decimals'])
    .select((eb) => eb.ref('company_asked_at').$notNull().as('asked_at'))
    .select(partialApprovalSql(count).as('partial_approval'))
    .where('batches.id', 'in', ({ selectFrom }) =>
      selectFrom('batches')
        .innerJoin('flywheels', 'flywheels.id', 'batches.flywheel_id')
        .leftJoin('company_admissions', 'company_admissions.multisig', 'flywheels.multisig')
        .select('batches.id')
        .where(awaitsCompanySql)
        .where('ended_at', 'is', null)
        .$if(batchId !== null, (query) => query.where('batches.id', '=', batchId ?? ''))
        .orderBy(sql`company_admissions.multisig is null`)
        .orderBy(sql`row_number() over (partition by batches.project_id order by company_asked_at, batches.id)`)
        .orderBy('company_asked_at')
        .orderBy('batches.id')
        .limit(limit),
    )
    .orderBy('company_asked_at')
    .orderBy('batches.id')
    .execute();
  return rows.map((row) => ({
    ...toListed(row),
    projectId: row.project_id,
    mint: row.mint,
    decimals: row.decimals,
    askedAt: row.asked_at,
    partialApproval: row.partial_approval,
  }));
}
