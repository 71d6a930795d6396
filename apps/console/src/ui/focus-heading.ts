import { useEffect, useRef } from 'react';

/**
 * Moves the focus to the heading of another part of a screen: the button that led there is gone.
 * @param part names the part that is shown.
 * @param selector of its heading.
 * @param move how the focus is moved; whatever has it, by default.
 */
export function useHeadingFocus(part: string, selector: string, move: typeof focusIfLost = focusHeading): void {
  const shown = useRef(part);
  useEffect(() => {
    if (shown.current === part) return;
    shown.current = part;
    return move(selector);
  }, [part, selector, move]);
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

/**
 * Focuses a heading in the same way if what had the focus is gone or hidden: a part that ends by itself takes it from nothing
 * else.
 */
export function focusIfLost(selector: string): (() => void) | undefined {
  const { activeElement, body } = document;
  // The browser takes the focus from what is hidden only before its next frame.
  const isLost = activeElement === null || activeElement === body || !activeElement.checkVisibility();
  return isLost ? focusHeading(selector) : undefined;
}
