import { IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from './api/call.ts';
import type { SolanaWallet } from './wallet/wallets.ts';

/** Who is signed in; null for nobody. */
export const sessionQuery = { queryKey: ['session'], queryFn: readSession, staleTime: 60_000 };

/** Who is signed in: undefined until it is known, null for nobody. */
export function useSession(): Session | null | undefined {
  return useQuery(sessionQuery).data;
}

/** What signing in takes: base58 and the wallets’ ways. Loaded once someone is about to. */
export const loadSignIn = () => import('./sign-in.ts');

/** Signs in with a wallet, for every screen. */
export function useSignIn() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (wallet: SolanaWallet) => (await loadSignIn()).signIn(wallet),
    onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
  });
}

/** Signs out, and forgets what was read. */
export function useSignOut() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => call(IDENTITY_OPERATIONS.signOut, { body: {} }),
    onSuccess: () => {
      // Nothing that one wallet has read may be seen by the next.
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
