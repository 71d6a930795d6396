import { Activity, type ReactNode, useState } from 'react';
import { useSession } from '../../lib/api/session.ts';
import { Loading, SkeletonLines } from '../../ui/feedback.tsx';

interface SignedInProps {
  /** Takes the place of the screens without a session. */
  readonly prompt: ReactNode;
  readonly children: (wallet: string) => ReactNode;
}

/**
 * Shows screens that need a session. When it ends they stay mounted but hidden, so that the same wallet finds its input, its
 * signatures and a secret that is shown only once again after signing in.
 */
export function SignedIn({ prompt, children }: SignedInProps) {
  const session = useSession();
  const [wallet, setWallet] = useState<string | null>(null);
  if (session && session.wallet !== wallet) setWallet(session.wallet);
  if (session === undefined && wallet === null)
    return (
      <Loading>
        <SkeletonLines count={4} />
      </Loading>
    );
  return (
    <>
      {session === null && prompt}
      {wallet !== null && (
        <Activity key={wallet} mode={session ? 'visible' : 'hidden'}>
          {children(wallet)}
        </Activity>
      )}
    </>
  );
}
