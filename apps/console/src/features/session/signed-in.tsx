import type { Session } from '@flywheel/api';
import { Activity, type ReactNode, useState } from 'react';
import { KeptSession, useSession } from '../../lib/api/session.ts';
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
  const [last, setLast] = useState<Session | null>(null);
  if (session && session !== last) setLast(session);
  if (session === undefined && last === null)
    return (
      <Loading>
        <SkeletonLines count={4} />
      </Loading>
    );
  return (
    <>
      {session === null && prompt}
      {last !== null && (
        <KeptSession value={last}>
          <Activity key={last.wallet} mode={session ? 'visible' : 'hidden'}>
            {children(last.wallet)}
          </Activity>
        </KeptSession>
      )}
    </>
  );
}
