import { BATCH_OPERATIONS, type BatchStatus } from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { applyProgress } from './apply-progress.ts';
import { call } from './call.ts';

/** Filter of a project’s batches. */
export interface BatchFilter {
  readonly status?: BatchStatus;
  readonly waitsFor?: 'wallet' | 'company';
}

const FIRST_PAGE: string | null = null;
/** Refetch interval while a batch of the first page is moving. */
const MOVING_INTERVAL_MS = 4_000;
/** Refetch interval of a list in which nothing moves: a wallet signs, a ledger is completed, another person creates a batch. */
const RECENT_INTERVAL_MS = 10_000;

/** A project’s batches, newest first, in pages. */
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
    // Refetching covers all loaded pages, so it stops once a second page is loaded.
    refetchInterval: ({ state: { data } }) => {
      const [first, ...others] = data?.pages ?? [];
      if (others.length > 0) return false;
      const isMoving = first?.batches.some(({ waitsFor }) => waitsFor === 'setup' || waitsFor === 'execution');
      return isMoving ? MOVING_INTERVAL_MS : RECENT_INTERVAL_MS;
    },
  });
}

/** The newest batches of a project. */
export function recentBatchesQuery(projectId: string, count: number) {
  return queryOptions({
    queryKey: ['project', projectId, 'batches', 'recent', count],
    queryFn: () =>
      call(BATCH_OPERATIONS.listProjectBatches, { params: { projectId }, query: { limit: String(count) } }),
    refetchInterval: RECENT_INTERVAL_MS,
  });
}

/** Names a batch of a project by its batch index, or of any project by its id. */
export type BatchName = { readonly batchIndex: string } | { readonly batchId: string };

/** The batch of a name, in the first project that has it; null if none has. */
export function namedBatchQuery(projectIds: readonly string[], name: BatchName) {
  return queryOptions({
    queryKey: ['batches', 'named', projectIds, name],
    queryFn: async ({ signal }) => {
      // One after the other: a wallet may have many projects, and the first one is most likely to have it.
      for (const projectId of projectIds) {
        const parts = { params: { projectId }, query: name };
        const { batches } = await call(BATCH_OPERATIONS.listProjectBatches, parts, { signal });
        if (batches[0]) return { projectId, batch: batches[0] };
      }
      return null;
    },
  });
}

/** A batch with its pipelines. `useLiveBatch` keeps it up to date. */
export function batchQuery(projectId: string, batchId: string) {
  return queryOptions({
    queryKey: ['batch', projectId, batchId],
    queryFn: async ({ client, signal }) => {
      const { queryKey } = progressQuery(projectId, batchId);
      const countReads = () => client.getQueryState(queryKey)?.dataUpdateCount ?? 0;
      const before = countReads();
      const whole = await call(BATCH_OPERATIONS.getProjectBatch, { params: { projectId, batchId } }, { signal });
      const progress = client.getQueryData(queryKey);
      // This answer takes longer than one of the progress, and may be of an earlier state than one that came meanwhile.
      return progress === undefined || countReads() === before ? whole : applyProgress(whole, progress);
    },
  });
}

/** The changing part of a batch, without its pipelines. */
export function progressQuery(projectId: string, batchId: string) {
  return queryOptions({
    queryKey: ['progress', projectId, batchId],
    queryFn: ({ signal }) => call(BATCH_OPERATIONS.getBatchProgress, { params: { projectId, batchId } }, { signal }),
    staleTime: 0,
  });
}

/** Path of the server-sent events that announce changes of a batch. */
export function batchEventsPath(projectId: string, batchId: string): string {
  return `/console/api/projects/${encodeURIComponent(projectId)}/batches/${encodeURIComponent(batchId)}/events`;
}
