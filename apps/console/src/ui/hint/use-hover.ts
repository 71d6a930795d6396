import { useEffect, useRef, useState } from 'react';

/** A pointer that only passes by opens nothing. */
const OPEN_AFTER_MS = 200;
/** Time for the pointer to come from what was hovered to what it opened. */
const CLOSE_AFTER_MS = 120;

export interface Hover {
  /** What the pointer rests on; null while it rests on nothing. */
  readonly over: Element | null;
  readonly enter: (element: Element, afterMs?: number) => void;
  readonly leave: () => void;
  readonly close: () => void;
}

/** On what the pointer rests. */
export function useHover(): Hover {
  const [over, setOver] = useState<Element | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (to: Element | null, afterMs: number) => {
    clearTimeout(timer.current);
    if (afterMs === 0) setOver(to);
    else timer.current = setTimeout(() => setOver(to), afterMs);
  };
  return {
    over,
    enter: (element, afterMs = OPEN_AFTER_MS) => change(element, afterMs),
    leave: () => change(null, CLOSE_AFTER_MS),
    close: () => change(null, 0),
  };
}
