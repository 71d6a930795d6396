import type { Base64EncodedWireTransaction } from '@solana/kit';
import { sql } from 'kysely';
import { type ExecutionIssue, heldUp, issueMessage } from '../../model/batch.ts';
import { type Db, inTransaction } from '../db.ts';
import { recordEvent } from './events.ts';
import type { Run } from './runs.ts';

/**
 * Stores the approval that the wallet signed, and clears an earlier issue. Repeating it keeps the first arrival time.
 * @returns false, and stores nothing, if the batch has ended or a bundle of its execution is recorded: the execution
 * continues with its first approval.
 */
export async function requestExecution(
  db: Db,
  batchId: string,
  signedTx: Base64EncodedWireTransaction,
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const before = await trx
      .selectFrom('batches')
      .select('signed_tx')
      .where('id', '=', batchId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    const isKept = before?.signed_tx === signedTx;
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({ signed_tx: signedTx, execution_error: null, updated_at: now, ...(!isKept && { signed_at: now }) })
      .where('id', '=', batchId)
      .where('ended_at', 'is', null)
      .where('execution_began_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    if (!isKept) await recordEvent(trx, batchId, { type: 'batch.approval_received', at: now });
    return true;
  });
}

/** True if the wallet's approval of an open batch is stored. */
export async function isExecutionRequested(db: Db, batchId: string): Promise<boolean> {
  const row = await db
    .selectFrom('batches')
    .select('id')
    .where('id', '=', batchId)
    .where('ended_at', 'is', null)
    .where('signed_tx', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns true if this approval of a batch is stored, or if its execution has begun with another one, or if it has ended. */
export async function isInProgress(db: Db, batchId: string, signedTx: Base64EncodedWireTransaction): Promise<boolean> {
  const row = await db
    .selectFrom('batches')
    .select('id')
    .where('id', '=', batchId)
    .where((eb) =>
      eb.or([eb('signed_tx', '=', signedTx), eb('execution_began_at', 'is not', null), eb('ended_at', 'is not', null)]),
    )
    .executeTakeFirst();
  return row !== undefined;
}

/** True if a bundle of the batch's execution is recorded, and may have been sent. */
export async function hasExecutionBegun(db: Db, batchId: string): Promise<boolean> {
  const { execution_began_at } = await db
    .selectFrom('batches')
    .select('execution_began_at')
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  return execution_began_at !== null;
}

/**
 * Records why a batch cannot be executed. Without `keepRequest` the approval is removed, so that execute can be
 * requested again. An issue that is recorded already is not written again: a batch may be held up for days.
 * @returns false, and changes nothing, if the batch has ended, if another approval than `judged` has arrived since, or,
 * without `keepRequest`, if a bundle of the execution has landed or may still land.
 */
export async function recordExecutionIssue(
  db: Db,
  batchId: string,
  issue: ExecutionIssue,
  { keepRequest, judged }: { readonly keepRequest: boolean; readonly judged?: Base64EncodedWireTransaction | null },
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const known = await trx
      .selectFrom('batches')
      .select(['execution_error', 'execution_began_at', 'signed_tx', 'ended_at'])
      .where('id', '=', batchId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const isKnown = keepRequest && JSON.stringify(known.execution_error) === JSON.stringify(issue);
    if (isKnown) return known.ended_at === null && (typeof judged !== 'string' || known.signed_tx === judged);
    const { numUpdatedRows } = await trx
      .updateTable('batches')
      .set({
        execution_error: JSON.stringify(issue),
        updated_at: now,
        ...(!keepRequest && {
          signed_tx: null,
          signed_at: null,
          // Only a worker may write that an execution has begun, or has not.
          ...(known.execution_began_at !== null && { execution_began_at: null }),
          // A void approval is not pending any more. A decision stays valid, because it covers the content of the batch.
          company_asked_at: sql<Date | null>`case when company_decided_at is not null then company_asked_at end`,
        }),
      })
      .where('id', '=', batchId)
      .where('ended_at', 'is', null)
      .$if(!keepRequest, (query) => query.where(({ not, exists }) => not(exists(effectiveBundles(trx, batchId)))))
      .$if(typeof judged === 'string', (query) => query.where('signed_tx', '=', judged ?? null))
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    // A repeated issue is a new event only if the approval has become void.
    const error = { code: issue.code, message: issueMessage(issue) };
    await recordEvent(trx, batchId, { type: 'batch.held_up', at: now, error });
    return true;
  });
}

/**
 * Records what holds up the job of a batch: on the batch, and if it is a setup, on the later ones of its multisig that are not
 * set up yet, because their setups wait for it.
 */
export async function recordHoldUp(
  db: Db,
  { lane }: Pick<Run, 'lane'>,
  batchId: string,
  issue: ExecutionIssue,
  now: Date,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    await recordExecutionIssue(trx, batchId, issue, { keepRequest: true }, now);
    if (lane !== 'setup') return;
    const { flywheel_id, batch_index } = await trx
      .selectFrom('batches')
      .select(['flywheel_id', 'batch_index'])
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
    const waits = heldUp(`batch ${batch_index}, which comes before it, is held up. It continues after that one.`);
    const waiting = await trx
      .selectFrom('batches')
      .select('id')
      .where('flywheel_id', '=', flywheel_id)
      .where('status', '=', 'AVAILABLE_TO_QUEUE')
      .where('batch_index', '>', batch_index)
      // The jobs of all of them come here again and again.
      .where(sql<boolean>`execution_error::text is distinct from ${JSON.stringify(waits)}`)
      .orderBy('batch_index')
      .execute();
    for (const { id } of waiting) await recordExecutionIssue(trx, id, waits, { keepRequest: true }, now);
  });
}

/** Selects the bundles of an execution that have landed or may still land. */
function effectiveBundles(db: Db, batchId: string) {
  return db
    .selectFrom('bundles')
    .select('id')
    .where('batch_id', '=', batchId)
    .where('phase', '=', 'execution')
    .where((eb) => eb.or([eb('state', '!=', 'failed'), sql<boolean>`cardinality(landed_signatures) > 0`]));
}
