import { useEffect, useRef } from 'react';

/**
 * Moves the focus to the heading of another part of a screen: the button that led there is gone.
 * @param part names the part that is shown.
 * @param selector of its heading.
 */
export function useHeadingFocus(part: string, selector: string): void {
  const shown = useRef(part);
  useEffect(() => {
    if (shown.current === part) return;
    shown.current = part;
    return focusHeading(selector);
  }, [part, selector]);
}

/**
 * Focuses a heading as soon as the screen has it: many show a placeholder until their data is there. It leaves the focus alone
 * if the person has moved it meanwhile.
 * @param selector of the heading; the first match takes the focus.
 * @returns a function that ends the wait.
 */
export function focusHeading(selector: string): () => void {
  const before = document.activeElement;
  const observer = new MutationObserver(() => tryToFocus());
  const tryToFocus = () => {
    const heading = document.querySelector<HTMLElement>(selector);
    if (heading === null) return;
    observer.disconnect();
    const { activeElement } = document;
    if (activeElement !== before && activeElement !== document.body) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  observer.observe(document.body, { childList: true, subtree: true });
  tryToFocus();
  return () => observer.disconnect();
}
