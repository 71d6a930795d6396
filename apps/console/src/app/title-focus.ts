import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

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
      stop = focusTitle();
    });
    return () => {
      unsubscribe();
      stop?.();
    };
  }, [router]);
}

/**
 * Focuses the title as soon as the screen has one: many show a placeholder until their data is there. It leaves the focus alone
 * if the person has moved it meanwhile.
 * @returns a function that ends the wait.
 */
function focusTitle(): () => void {
  const before = document.activeElement;
  const observer = new MutationObserver(() => tryToFocus());
  const tryToFocus = () => {
    const title = document.querySelector<HTMLElement>('main h1');
    if (title === null) return;
    observer.disconnect();
    const { activeElement } = document;
    if (activeElement !== before && activeElement !== document.body) return;
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  };
  observer.observe(document.body, { childList: true, subtree: true });
  tryToFocus();
  return () => observer.disconnect();
}
