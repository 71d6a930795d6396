import { type BatchDetail, BatchEventType } from '@flywheel/api';
import { focusManager, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { applyProgress } from './apply-progress.ts';
import { batchEventsPath, batchQuery, progressQuery } from './batches.ts';

/** Poll interval without an event stream. */
const POLL_INTERVAL_MS = 2_000;
/** Poll interval with an event stream, in case an event is lost. */
const FALLBACK_INTERVAL_MS = 30_000;
/** The service asks callers with too many streams for this pause. A proxy that answers for it knows none. */
const RECONNECT_MS = 5_000;
/** A new stream begins with all events of the batch, hundreds of a large one; one read answers those of this time. */
const GATHER_MS = 50;

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
  const isStreaming = useBatchEvents(projectId, batchId, isMoving && isInSight);
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
  return batch;
}

/** Reads the progress of a batch again after each event of its stream, if enabled. @returns true while there is a stream. */
function useBatchEvents(projectId: string, batchId: string, isEnabled: boolean): boolean {
  const queries = useQueryClient();
  const [isStreaming, setStreaming] = useState(false);
  useEffect(() => {
    if (!isEnabled) return;
    const { queryKey } = progressQuery(projectId, batchId);
    let refetching: ReturnType<typeof setTimeout> | undefined;
    let reconnecting: ReturnType<typeof setTimeout> | undefined;
    const refetch = async () => {
      refetching = undefined;
      // A request already in flight may answer with the state before the event, and refetching alone would reuse it.
      await queries.cancelQueries({ queryKey });
      await queries.refetchQueries({ queryKey });
    };
    const connect = () => {
      const stream = new EventSource(batchEventsPath(projectId, batchId));
      stream.onopen = () => setStreaming(true);
      stream.onerror = () => {
        setStreaming(false);
        // The browser connects again by itself, but not after an answer that is no stream, such as a proxy’s 503.
        if (stream.readyState !== EventSource.CLOSED) return;
        reconnecting = setTimeout(() => {
          events = connect();
        }, RECONNECT_MS);
      };
      // An event carries only its type, so the progress is read again.
      for (const name of BatchEventType.options) {
        stream.addEventListener(name, () => {
          refetching ??= setTimeout(() => void refetch(), GATHER_MS);
        });
      }
      return stream;
    };
    let events = connect();
    return () => {
      clearTimeout(refetching);
      clearTimeout(reconnecting);
      events.close();
      setStreaming(false);
    };
  }, [queries, projectId, batchId, isEnabled]);
  return isStreaming;
}
