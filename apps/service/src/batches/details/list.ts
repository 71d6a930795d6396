import { describeExecutionIssue } from '../../model/batch.ts';
import { type Page, pageOf, parseCursor } from '../../model/page.ts';
import type { Project } from '../../model/project.ts';
import { type ListedBatch, type ListFilter, listBatchRecords } from '../../store/batches/batch-records.ts';
import type { Deps } from '../deps.ts';
import { explainChainError } from './failure.ts';

export interface ListItem extends ListedBatch {
  /** Sentence about what holds the batch up, or why it failed; null for neither. */
  readonly problem: string | null;
}

/**
 * Reads a page of a project’s batches for the console, newest first.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that this operation did not return.
 */
export async function listBatchItems(
  { db }: Pick<Deps, 'db'>,
  { id: projectId }: Project,
  {
    cursor,
    limit,
    ...filter
  }: Pick<ListFilter, 'status' | 'waitsFor' | 'limit'> & { readonly cursor: string | undefined },
): Promise<Page<ListItem>> {
  const found = await listBatchRecords(db, projectId, { ...filter, below: parseCursor('b', cursor), limit: limit + 1 });
  const { rows, nextCursor } = pageOf('b', found, { limit, numberOf: ({ batchIndex }) => batchIndex });
  return { rows: rows.map((listed) => ({ ...listed, problem: problemOf(listed) })), nextCursor };
}

/** Describes what holds a batch up, or why it failed; null for neither. */
export function problemOf({ status, executionError, failedTxMsg }: ListedBatch): string | null {
  if (status === 'FAILED') return failedTxMsg && explainChainError(failedTxMsg);
  return executionError && describeExecutionIssue(executionError, status);
}
