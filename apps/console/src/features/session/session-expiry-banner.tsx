import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { sessionQuery, useSession } from '../../lib/session.ts';
import { Button } from '../../ui/button.tsx';
import { TimeText } from '../../ui/text.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';

/** Time enough to finish a form and to find one’s wallet. */
const WARNED_BEFORE_MS = 5 * 60_000;
/** By the clock rather than by a timer: a computer that slept wakes up late. */
const LOOK_EVERY_MS = 10_000;

/** Says that the session ends soon, with a way to stay; when it is over, every screen asks to sign in. */
export function SessionExpiryBanner() {
  const session = useSession();
  const queries = useQueryClient();
  const [isNear, setNear] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const expiresAt = session?.expiresAt;
  useEffect(() => {
    if (expiresAt === undefined) return;
    const look = () => {
      const leftMs = Date.parse(expiresAt) - Date.now();
      setNear(leftMs < WARNED_BEFORE_MS);
      if (leftMs <= 0) queries.setQueryData(sessionQuery.queryKey, null);
    };
    look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      removeEventListener('visibilitychange', look);
    };
  }, [expiresAt, queries]);
  if (expiresAt === undefined || !isNear) return null;
  return (
    <div role="status" className="border-b border-waiting/50 bg-waiting-wash">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2">
        <p>
          Your session ends at <TimeText at={expiresAt} form="hour" />. What you have typed stays if you sign in before.
        </p>
        <Button size="small" onClick={() => setOpen(true)}>
          Sign in again
        </Button>
      </div>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </div>
  );
}
