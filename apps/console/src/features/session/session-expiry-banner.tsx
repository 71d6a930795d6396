import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { sessionQuery, useSession } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { TimeText } from '../../ui/text.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';

/** Enough time to finish a form and to unlock a wallet. */
const WARNING_MS = 5 * 60_000;
/** Polls the clock, because one long timer stops while the computer sleeps. */
const CHECK_INTERVAL_MS = 10_000;

/** Warns before the session expires, with a button to renew it. After expiry every screen asks to sign in. */
export function SessionExpiryBanner() {
  const session = useSession();
  const queries = useQueryClient();
  const [isExpiring, setExpiring] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const expiresAt = session?.expiresAt;
  useEffect(() => {
    if (expiresAt === undefined) return;
    const check = () => {
      const leftMs = Date.parse(expiresAt) - Date.now();
      setExpiring(leftMs < WARNING_MS);
      if (leftMs <= 0) queries.setQueryData(sessionQuery.queryKey, null);
    };
    check();
    const timer = setInterval(check, CHECK_INTERVAL_MS);
    addEventListener('visibilitychange', check);
    return () => {
      clearInterval(timer);
      removeEventListener('visibilitychange', check);
    };
  }, [expiresAt, queries]);
  if (expiresAt === undefined || !isExpiring) return null;
  return (
    <div role="status" className="border-b border-waiting/50 bg-waiting-wash">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2">
        <p>
          Your session expires at <TimeText at={expiresAt} form="hour" />. Sign in again to keep what you have typed.
        </p>
        <Button size="small" onClick={() => setOpen(true)}>
          Sign in again
        </Button>
      </div>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </div>
  );
}
