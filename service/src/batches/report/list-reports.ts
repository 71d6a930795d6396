import type { Project } from '../../model/project.ts';
import { type ListedBatch, type ListFilter, listBatchRecords } from '../../store/batch-records.ts';
import type { Deps } from '../deps.ts';
import { parseCursor } from '../read.ts';
import { explainChainError } from './chain-error.ts';
import { describeTrouble } from './failure.ts';

export interface ListItem extends ListedBatch {
  /** What holds it up, or why it failed. */
  readonly problem: string | null;
}

export interface ListPage {
  readonly batches: readonly ListItem[];
  /** null on the last page. */
  readonly nextCursor: string | null;
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
): Promise<ListPage> {
  const found = await listBatchRecords(db, projectId, { ...filter, below: parseCursor(cursor), limit: limit + 1 });
  const batches = found.slice(0, limit).map((listed) => ({ ...listed, problem: problemOf(listed) }));
  const last = batches.at(-1);
  return { batches, nextCursor: found.length > limit && last ? `b${last.batchIndex}` : null };
}

/** What a list says of a batch that is held up or failed. */
export function problemOf({ status, executionError, failedTxMsg }: ListedBatch): string | null {
  if (status === 'FAILED') return failedTxMsg && explainChainError(failedTxMsg);
  return executionError && describeTrouble(executionError, status);
}
