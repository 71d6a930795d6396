import { readShardOfError } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { router } from './app/router.tsx';
import { forgetOtherWallets, sessionQuery, setSession } from './lib/api/session.ts';
import './styles.css';

/** Data this old is shown at once and fetched again in the background. */
const STALE_MS = 5_000;

// No retries here: `call` retries reads by itself.
const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: endSession }),
  mutationCache: new MutationCache({
    onError: (error) => {
      endSession(error);
      if (mayHaveSucceeded(error)) void queryClient.invalidateQueries();
    },
  }),
  // A browser that says it is offline is asked all the same: a read then fails and the page says so, and a signature or a
  // change never waits to be sent later, when the person has gone on.
  defaultOptions: {
    queries: { retry: false, staleTime: STALE_MS, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

forgetOtherWallets(queryClient);

/**
 * Makes every screen ask to sign in once any answer says that the session has ended. Each shard has a session of its own, and an
 * answer may be of another one than the screens show: with several, the service says if their session has ended.
 */
function endSession(error: Error): void {
  if (!isFlywheelError(error, 'ERR_UNAUTHORIZED')) return;
  if (readShardOfError(error).count === 1) void setSession(queryClient, null);
  else void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
}

/** True if only the answer to a change may be missing: what the screens show is then read again. */
function mayHaveSucceeded(error: Error): boolean {
  return isFlywheelError(error) && (error.status === null || error.status >= 500);
}

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
