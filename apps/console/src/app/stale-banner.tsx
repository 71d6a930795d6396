import { isFlywheelError } from '@flywheel/sdk';
import { notifyManager, type Query, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { CloudOff } from 'lucide-react';
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import { environmentQuery } from '../lib/api/environment.ts';
import { sessionQuery } from '../lib/api/session.ts';
import { Button } from '../ui/button.tsx';
import { Banner, sentenceOf } from '../ui/feedback.tsx';
import { TimeText } from '../ui/text.tsx';
import { RetryNotice } from './retry-notice.tsx';

/** Soon enough for a person who waits, rare enough for a service that comes back under load. */
const RETRY_INTERVAL_MS = 5_000;

/**
 * Says that data of the screen could not be read again: since when it is old, and why. Without it a screen would show its
 * last answer as the present while the service is away. It reads the data again until that succeeds.
 */
export function StaleBanner() {
  const queries = useQueryClient();
  const cache = queries.getQueryCache();
  const query = useSyncExternalStore(
    useCallback((onChange) => cache.subscribe(notifyManager.batchCalls(onChange)), [cache]),
    () => findStale(queries),
  );
  const isFound = query !== null;
  useEffect(() => {
    if (!isFound) return;
    const timer = setInterval(() => void readAgain(queries), RETRY_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [queries, isFound]);
  // Reading again clears the error of a query that has no data.
  const error = useRef<Error | null>(null);
  error.current = query?.state.error ?? error.current;
  if (!query) return <RetryNotice />;
  const { data, dataUpdatedAt } = query.state;
  return (
    <Banner
      tone="failed"
      icon={CloudOff}
      action={
        <Button size="small" onClick={() => void readAgain(queries)}>
          Retry now
        </Button>
      }
    >
      <span className="font-medium">{error.current && sentenceOf(error.current)}</span>{' '}
      {data !== undefined && (
        <>
          This page shows what it read at <TimeText at={new Date(dataUpdatedAt).toISOString()} />.{' '}
        </>
      )}
      It retries by itself.
    </Banner>
  );
}

/** Queries without which no screen can say anything; any other shows its first error in its own place. */
const NEEDED = new Set([environmentQuery.queryKey[0], sessionQuery.queryKey[0]]);

/** Finds data on the screen whose last read failed; the oldest of several. The end of a session has a screen of its own. */
function findStale(queries: QueryClient): Query | null {
  const [first = null, ...others] = queries.getQueryCache().findAll({ type: 'active', predicate: isStale });
  return others.reduce((oldest, other) => (ageOf(other) < ageOf(oldest) ? other : oldest), first);
}

function isStale({ state: { status, error, errorUpdateCount, data }, queryKey: [name] }: Query): boolean {
  if (isFlywheelError(error, 'ERR_UNAUTHORIZED')) return false;
  return data === undefined ? errorUpdateCount > 0 && NEEDED.has(String(name)) : status === 'error';
}

function ageOf(query: Query | null): number {
  return query?.state.dataUpdatedAt ?? 0;
}

async function readAgain(queries: QueryClient): Promise<void> {
  await queries.refetchQueries({ type: 'active', predicate: isStale }, { cancelRefetch: false });
}
