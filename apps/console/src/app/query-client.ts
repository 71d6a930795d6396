import { isFlywheelError } from '@flywheel/sdk';
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

/** What was read a moment ago is shown at once and asked for again behind it. */
const STALE_MS = 5_000;

/** Keeps what was read. Calls repeat by themselves (sendRequest), so queries do not. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: forgetSession }),
  mutationCache: new MutationCache({ onError: forgetSession }),
  defaultOptions: { queries: { retry: false, staleTime: STALE_MS }, mutations: { retry: false } },
});

/** A session that is over is over on every screen: the shell asks to sign in and comes back here. */
function forgetSession(error: Error): void {
  if (isFlywheelError(error, 'ERR_UNAUTHORIZED')) queryClient.setQueryData(['session'], null);
}
