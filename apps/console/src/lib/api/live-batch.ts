import { type BatchDetail, BatchEventType } from '@flywheel/api';
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { applyProgress } from './apply-progress.ts';
import { batchEventsPath, batchQuery, progressQuery } from './batches.ts';

/** Without events: often enough to look alive, seldom enough for a page that stays open. */
const POLL_INTERVAL_MS = 2_000;
/** With events: in case one was lost on the way. */
const SAFETY_INTERVAL_MS = 30_000;

/** A batch that moves on the page as it moves: told by the service’s events, or asked for where none come. */
export function useLiveBatch(projectId: string, batchId: string): UseQueryResult<BatchDetail> {
  const queries = useQueryClient();
  const batch = useQuery(batchQuery(projectId, batchId));
  const isMoving = batch.data !== undefined && batch.data.waitsFor !== 'nothing';
  const [isTold, setTold] = useState(false);
  const progress = useQuery({
    ...progressQuery(projectId, batchId),
    enabled: isMoving,
    refetchInterval: isTold ? SAFETY_INTERVAL_MS : POLL_INTERVAL_MS,
  });
  const { data: moved } = progress;
  useEffect(() => {
    if (!moved) return;
    queries.setQueryData(batchQuery(projectId, batchId).queryKey, (before) => before && applyProgress(before, moved));
  }, [queries, projectId, batchId, moved]);
  useEffect(() => {
    if (!isMoving) return;
    const { queryKey } = progressQuery(projectId, batchId);
    const ask = async () => {
      // The first answer, still on its way, may be from before: asking again alone would be content with it.
      await queries.cancelQueries({ queryKey });
      await queries.refetchQueries({ queryKey });
    };
    const events = new EventSource(batchEventsPath(projectId, batchId));
    events.onopen = () => setTold(true);
    events.onerror = () => setTold(false);
    // Each is named for what happened; what it says in full is asked for.
    for (const name of BatchEventType.options) events.addEventListener(name, () => void ask());
    return () => {
      events.close();
      setTold(false);
    };
  }, [queries, projectId, batchId, isMoving]);
  return batch;
}
