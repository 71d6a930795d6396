import { askEveryShard, IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { isAuditDocument } from '../document-policy.ts';
import { loadCode } from '../load-code.ts';
import type { SolanaWallet } from '../wallet/wallets.ts';
import { call, callForReply } from './call.ts';

/** The current session; null when signed out. */
export const sessionQuery = { queryKey: ['session'], queryFn: readSession, staleTime: 60_000 };

/** Returns the current session: undefined until it is loaded, and where the document may not ask; null when signed out. */
export function useSession(): Session | null | undefined {
  return useQuery({ ...sessionQuery, enabled: !isAuditDocument }).data;
}

/** Loads the sign-in code, which the first page does not need. */
export const loadSignIn = () => loadCode(() => import('./sign-in.ts'));

/** Signs in with a wallet. */
export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (wallet: SolanaWallet) => (await loadSignIn()).signIn(wallet),
    onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
  });
}

/** Signs the wallet of the session in to one more shard, whose data are then read too. */
export function useSignInToShard(shard: number) {
  const queries = useQueryClient();
  const address = useSession()?.wallet;
  return useMutation({
    mutationFn: async (wallet: SolanaWallet) => (await loadSignIn()).signIn(wallet, { shard, address }),
    onSuccess: () => queries.invalidateQueries(),
  });
}

/** Signs out and clears all cached data. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      const { failures } = await askEveryShard((headers) =>
        callForReply(IDENTITY_OPERATIONS.signOut, { headers, body: {} }),
      );
      // A shard without a session answers with an error, which is expected. At a shard that is down the session stays.
      const left = failures.find(({ error }) => !isFlywheelError(error, 'ERR_UNAUTHORIZED'));
      if (left !== undefined) throw left.error;
    },
    onSuccess: () => {
      // The next wallet must not see data of this one.
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, null);
    },
  });
}

async function readSession(): Promise<Session | null> {
  try {
    return await call(IDENTITY_OPERATIONS.getSession, {});
  } catch (error) {
    if (isFlywheelError(error, 'ERR_UNAUTHORIZED')) return null;
    throw error;
  }
}
