import { type BatchDetail, BatchEventType } from '@flywheel/api';
import { focusManager, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { applyProgress } from './apply-progress.ts';
import { batchEventsPath, batchQuery, progressQuery } from './batches.ts';

/** Poll interval without an event stream. */
const POLL_INTERVAL_MS = 2_000;
/** Poll interval with an event stream, in case an event is lost. */
const FALLBACK_INTERVAL_MS = 30_000;

/**
 * Subscribes to a batch: follows the service’s events, and polls while there is no event stream. It does neither in a tab that is
 * out of sight: over HTTP/1.1 a browser has six connections for all tabs of a service, and six streams would hold every request
 * back. Who returns to the tab gets the present state at once.
 */
export function useLiveBatch(projectId: string, batchId: string): UseQueryResult<BatchDetail> {
  const queries = useQueryClient();
  const batch = useQuery(batchQuery(projectId, batchId));
  const isMoving = batch.data !== undefined && batch.data.waitsFor !== 'nothing';
  const isInSight = useSyncExternalStore(focusManager.subscribe, () => focusManager.isFocused());
  const [isStreaming, setStreaming] = useState(false);
  const progress = useQuery({
    ...progressQuery(projectId, batchId),
    enabled: isMoving,
    refetchInterval: isStreaming ? FALLBACK_INTERVAL_MS : POLL_INTERVAL_MS,
  });
  const { data: latest } = progress;
  // Progress from the cache is applied already, to a batch that may have been read again since.
  const applied = useRef(latest);
  useEffect(() => {
    if (!latest || latest === applied.current) return;
    applied.current = latest;
    queries.setQueryData(batchQuery(projectId, batchId).queryKey, (whole) => whole && applyProgress(whole, latest));
  }, [queries, projectId, batchId, latest]);
  useEffect(() => {
    if (!isMoving || !isInSight) return;
    const { queryKey } = progressQuery(projectId, batchId);
    const refetch = async () => {
      // A request already in flight may answer with the state before the event, and refetching alone would reuse it.
      await queries.cancelQueries({ queryKey });
      await queries.refetchQueries({ queryKey });
    };
    const events = new EventSource(batchEventsPath(projectId, batchId));
    events.onopen = () => setStreaming(true);
    events.onerror = () => setStreaming(false);
    // An event carries only its type, so each one triggers a refetch.
    for (const name of BatchEventType.options) events.addEventListener(name, () => void refetch());
    return () => {
      events.close();
      setStreaming(false);
    };
  }, [queries, projectId, batchId, isMoving, isInSight]);
  return batch;
}
