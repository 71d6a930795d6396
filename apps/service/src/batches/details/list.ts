import type { WithdrawAction } from '@flywheel/api';
import { describeExecutionIssue } from '../../model/batch.ts';
import { type Page, pageOf, parseCursor } from '../../model/page.ts';
import type { Project } from '../../model/project.ts';
import { type ListedBatch, type ListFilter, listBatchRecords } from '../../store/batches/batch-records.ts';
import { findPastPipelines } from '../../store/batches/past-batches.ts';
import type { Db } from '../../store/db.ts';
import type { Deps } from '../deps.ts';
import { describeFailedTx } from './failure.ts';

export interface ListItem extends ListedBatch {
  /** Sentence about what holds the batch up, or why it failed; null for neither. */
  readonly problem: string | null;
  /** Null for a batch of another kind. */
  readonly withdrawal: Pick<WithdrawAction, 'asset' | 'amount'> | null;
}

/**
 * Reads a page of a project’s batches for the console, newest first.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return.
 */
export async function listBatchItems(
  { db }: Pick<Deps, 'db'>,
  { id: projectId }: Project,
  { cursor, limit, ...filter }: Omit<ListFilter, 'below'> & { readonly cursor: string | undefined },
): Promise<Page<ListItem>> {
  const found = await listBatchRecords(db, projectId, { ...filter, below: parseCursor('b', cursor), limit: limit + 1 });
  const { rows, nextCursor } = pageOf('b', found, { limit, numberOf: ({ batchIndex }) => batchIndex });
  return { rows: await toItems(db, rows), nextCursor };
}

/** Adds to batches what their rows do not have: their problem, and what a withdrawal takes. */
export async function toItems<B extends ListedBatch>(db: Db, batches: readonly B[]): Promise<(B & ListItem)[]> {
  const ids = batches.filter(({ kind }) => kind === 'withdrawal').map(({ id }) => id);
  const withdrawn = new Map((await findPastPipelines(db, ids)).map(({ batchId, actions }) => [batchId, actions[0]]));
  return batches.map((batch) => {
    const action = withdrawn.get(batch.id);
    const withdrawal = action?.action === 'WITHDRAW' ? { asset: action.asset, amount: action.amount } : null;
    return { ...batch, problem: problemOf(batch), withdrawal };
  });
}

/** Describes what holds a batch up, or why it failed; null for neither. */
function problemOf({ status, executionError, failedTxMsg }: ListedBatch): string | null {
  if (status === 'FAILED') return failedTxMsg && describeFailedTx(failedTxMsg).message;
  return executionError && describeExecutionIssue(executionError, status);
}
