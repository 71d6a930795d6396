import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { serviceNow } from '../../lib/api/clock.ts';
import { sessionQuery, setSession, useSession } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Banner } from '../../ui/feedback.tsx';
import { focusIfLost } from '../../ui/focus-heading.ts';
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
      const leftMs = Date.parse(expiresAt) - serviceNow();
      setExpiring(leftMs < WARNING_MS);
      if (leftMs <= 0) void readEnd();
    };
    // The service decides when the session ends. While it is out of reach, its clock does: nothing of the wallet stays in sight.
    const readEnd = async () => {
      await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      if (queries.getQueryState(sessionQuery.queryKey)?.status === 'error') await setSession(queries, null);
    };
    check();
    const timer = setInterval(check, CHECK_INTERVAL_MS);
    addEventListener('visibilitychange', check);
    return () => {
      clearInterval(timer);
      removeEventListener('visibilitychange', check);
    };
  }, [expiresAt, queries]);
  const isShown = expiresAt !== undefined && isExpiring;
  useFocusAfter(isShown);
  if (!isShown) return null;
  return (
    <>
      <Banner
        tone="waiting"
        action={
          <Button size="small" onClick={() => setOpen(true)}>
            Sign in again
          </Button>
        }
      >
        Your session expires at <TimeText at={expiresAt} form="hour" />. Sign in again to keep what you have typed.
      </Banner>
      <SignInDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

/** Moves the focus to the title of the screen when the banner goes, and with it the button that had the focus. */
function useFocusAfter(isShown: boolean): void {
  const wasShown = useRef(isShown);
  useEffect(() => {
    const isGone = wasShown.current && !isShown;
    wasShown.current = isShown;
    return isGone ? focusIfLost('main h1') : undefined;
  }, [isShown]);
}
