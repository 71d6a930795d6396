import { askEveryShard, IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { isAuditDocument } from '../document-policy.ts';
import { loadCode } from '../load-code.ts';
import { call, callForReply } from './call.ts';
import { environmentQuery } from './environment.ts';
import type { SignInRequest } from './sign-in.ts';

/**
 * The current session; null when signed out. Another tab may have signed another wallet in: who returns to this one
 * sees that.
 */
export const sessionQuery = {
  queryKey: ['session'],
  queryFn: readSession,
  staleTime: 60_000,
  refetchOnWindowFocus: 'always',
} as const;

/** The last session of screens that stay mounted after its end, hidden; null around all others. */
export const KeptSession = createContext<Session | null>(null);

/**
 * Returns the current session: undefined until it is loaded, and where the document may not ask; null when signed out. A hidden
 * screen goes on with its last one: a form that the wallet may use would leave the screen otherwise, with what was entered.
 */
export function useSession(): Session | null | undefined {
  const kept = useContext(KeptSession);
  const { data } = useQuery({ ...sessionQuery, enabled: !isAuditDocument });
  return data ?? kept ?? data;
}

/** Sets the session. A read of it that is under way began before: its answer is dropped. */
export async function setSession(queries: QueryClient, session: Session | null): Promise<void> {
  await queries.cancelQueries({ queryKey: sessionQuery.queryKey });
  queries.setQueryData(sessionQuery.queryKey, session);
}

/** Loads the sign-in code, which the first page does not need. */
export const loadSignIn = () => loadCode(() => import('./sign-in.ts'));

/** Signs in with a wallet. */
export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (request: SignInRequest) => (await loadSignIn()).signIn(request),
    onSuccess: (session) => setSession(queries, session),
  });
}

/** Signs the wallet of the session in to one more shard, whose data are then read too. */
export function useSignInToShard(shard: number) {
  const queries = useQueryClient();
  const address = useSession()?.wallet;
  return useMutation({
    mutationFn: async (request: SignInRequest) => (await loadSignIn()).signIn(request, { shard, address }),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** The key of every attempt to sign out, from whichever button. */
export const SIGN_OUT_KEY = ['sign-out'];

/** Signs out and clears all cached data. The shell says if that fails. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationKey: SIGN_OUT_KEY,
    mutationFn: async () => {
      const { failures } = await askEveryShard((headers) =>
        callForReply(IDENTITY_OPERATIONS.signOut, { headers, body: {} }),
      );
      // A shard without a session answers with an error, which is expected. At a shard that is down the session stays.
      const left = failures.find(({ error }) => !isFlywheelError(error, 'ERR_UNAUTHORIZED'));
      if (left !== undefined) throw left.error;
    },
    onSuccess: async () => {
      await setSession(queries, null);
      forget(queries);
    },
  });
}

/** Clears the data of a wallet when another one is signed in, here or in another tab: it must not see them. */
export function forgetOtherWallets(queries: QueryClient): void {
  let wallet: string | undefined;
  queries.getQueryCache().subscribe(({ query }) => {
    if (query.queryKey[0] !== sessionQuery.queryKey[0]) return;
    const session: Session | null | undefined = query.state.data;
    if (!session || session.wallet === wallet) return;
    if (wallet !== undefined) forget(queries);
    ({ wallet } = session);
  });
}

/** Clears everything but the session, which its screens go on to read, and what is the same for everyone. */
function forget(queries: QueryClient): void {
  const kept = new Set<unknown>([sessionQuery.queryKey[0], environmentQuery.queryKey[0]]);
  queries.removeQueries({ predicate: ({ queryKey: [name] }) => !kept.has(name) });
  queries.getMutationCache().clear();
}

async function readSession(): Promise<Session | null> {
  try {
    return await call(IDENTITY_OPERATIONS.getSession, {});
  } catch (error) {
    if (isFlywheelError(error, 'ERR_UNAUTHORIZED')) return null;
    throw error;
  }
}
