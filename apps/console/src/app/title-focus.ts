import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useSession } from '../lib/api/session.ts';
import { focusHeading, focusIfLost } from '../ui/focus-heading.ts';

/**
 * Moves the focus to the title of a screen after a navigation, so that screen readers announce it, and after a sign-in or the
 * end of a session if that has taken away what had it. The first screen of a document keeps the focus where the browser has
 * it, and so does a change of the query alone.
 */
export function useTitleFocus(): void {
  const router = useRouter();
  useEffect(() => {
    let stop: (() => void) | null = null;
    const unsubscribe = router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
      if (fromLocation === undefined || !pathChanged) return;
      stop?.();
      stop = focusHeading('main h1');
    });
    return () => {
      unsubscribe();
      stop?.();
    };
  }, [router]);
  const session = useSession();
  const wallet = session === null ? SIGNED_OUT : session?.wallet;
  const known = useRef(wallet);
  useEffect(() => {
    const before = known.current;
    known.current = wallet;
    return before === undefined || before === wallet ? undefined : focusIfLost('main h1');
  }, [wallet]);
}

const SIGNED_OUT = 'signed out';
