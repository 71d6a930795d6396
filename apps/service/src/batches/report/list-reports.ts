import { type Page, pageOf, parseCursor } from '../../model/page.ts';
import type { Project } from '../../model/project.ts';
import { type ListedBatch, type ListFilter, listBatchRecords } from '../../store/batches/batch-records.ts';
import type { Deps } from '../deps.ts';
import { explainChainError } from './chain-error.ts';
import { describeExecutionIssue } from './failure.ts';

export interface ListItem extends ListedBatch {
  /** What holds it up, or why it failed. */
  readonly problem: string | null;
}

/**
 * A page of a project’s batches, newest first.
 * @throws ApiError ERR_INVALID_REQUEST for a cursor that is none of ours.
 */
export async function listReports(
  { db }: Deps,
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

/** What a list says of a batch that is held up or failed. */
export function problemOf({ status, executionError, failedTxMsg }: ListedBatch): string | null {
  if (status === 'FAILED') return failedTxMsg && explainChainError(failedTxMsg);
  return executionError && describeExecutionIssue(executionError, status);
}
