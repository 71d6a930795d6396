import { useEffect, useRef } from 'react';

export interface RowKeys {
  readonly count: number;
  /** Brings a row into the window. */
  readonly onGoTo: (index: number) => void;
}

/** `j` and `k`, and the arrows once a row is focused, go from row to row; Enter is the link’s own. */
export function useRowKeys({ count, onGoTo }: RowKeys): void {
  const latest = useRef({ count, onGoTo });
  latest.current = { count, onGoTo };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      const focused = focusedRow();
      const step = stepOf(event.key, focused !== null);
      if (step === 0 || isTyping(event)) return;
      const next = focused === null ? 0 : Math.min(latest.current.count - 1, Math.max(0, focused + step));
      if (latest.current.count === 0) return;
      event.preventDefault();
      latest.current.onGoTo(next);
      focusRow(next);
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

function stepOf(key: string, hasFocus: boolean): -1 | 0 | 1 {
  if (key === 'j' || (hasFocus && key === 'ArrowDown')) return 1;
  if (key === 'k' || (hasFocus && key === 'ArrowUp')) return -1;
  return 0;
}

function focusedRow(): number | null {
  const row = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined;
  return row === undefined ? null : Number(row);
}

/** A row that was outside the window is there a frame after scrolling to it. */
const MAX_FRAMES = 10;

function focusRow(index: number, frame = 0): void {
  const row = document.querySelector<HTMLElement>(`[data-row="${index}"]`);
  if (row) row.focus({ preventScroll: true });
  else if (frame < MAX_FRAMES) requestAnimationFrame(() => focusRow(index, frame + 1));
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
