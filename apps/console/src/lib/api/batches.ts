import { BATCH_OPERATIONS, type BatchStatus } from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Which of a project’s batches are asked for. */
export interface BatchFilter {
  readonly status?: BatchStatus;
  readonly waitsFor?: 'wallet' | 'company';
}

const FIRST_PAGE: string | null = null;
/** While a batch of the first page is on its way, the list is asked for again this often. */
const MOVING_INTERVAL_MS = 4_000;

/** A project’s batches, newest first, a page at a time. */
export function batchesQuery(projectId: string, filter: BatchFilter) {
  return infiniteQueryOptions({
    queryKey: ['batches', projectId, filter],
    queryFn: ({ pageParam, signal }) =>
      call(
        BATCH_OPERATIONS.listProjectBatches,
        { params: { projectId }, query: { ...filter, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: FIRST_PAGE,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
    // Who has scrolled further reads; the pages below the first would all be asked for again.
    refetchInterval: ({ state: { data } }) => {
      const [first, ...others] = data?.pages ?? [];
      const isMoving = first?.batches.some(({ waitsFor }) => waitsFor === 'setup' || waitsFor === 'execution');
      return isMoving && others.length === 0 ? MOVING_INTERVAL_MS : false;
    },
  });
}

/** Long enough not to be a burden, short enough that a batch is seen to move while one looks on. */
const RECENT_EVERY_MS = 10_000;

/** The newest batches of a project. */
export function recentBatchesQuery(projectId: string, count: number) {
  return queryOptions({
    queryKey: ['project', projectId, 'batches', 'recent', count],
    queryFn: () =>
      call(BATCH_OPERATIONS.listProjectBatches, { params: { projectId }, query: { limit: String(count) } }),
    refetchInterval: RECENT_EVERY_MS,
  });
}

/** Everything of a batch. What moves of it is kept up to date by `useLiveBatch`. */
export function batchQuery(projectId: string, batchId: string) {
  return queryOptions({
    queryKey: ['batch', projectId, batchId],
    queryFn: ({ signal }) => call(BATCH_OPERATIONS.getProjectBatch, { params: { projectId, batchId } }, { signal }),
  });
}

/** What moves of a batch. */
export function progressQuery(projectId: string, batchId: string) {
  return queryOptions({
    queryKey: ['progress', projectId, batchId],
    queryFn: ({ signal }) => call(BATCH_OPERATIONS.getBatchProgress, { params: { projectId, batchId } }, { signal }),
    staleTime: 0,
  });
}

/** Where the service says that something of a batch has changed, as server-sent events. */
export function batchEventsPath(projectId: string, batchId: string): string {
  return `/console/api/projects/${encodeURIComponent(projectId)}/batches/${encodeURIComponent(batchId)}/events`;
}
