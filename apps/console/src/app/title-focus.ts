import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { focusHeading } from '../ui/focus-heading.ts';

/**
 * Moves the focus to the title of a screen after a navigation, so that screen readers announce it. The first screen of a
 * document keeps the focus where the browser has it, and so does a change of the query alone.
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
}
