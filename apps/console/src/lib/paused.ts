import { useEffect, useState } from 'react';

/**
 * Returns true once a value that a person types has stopped changing, so that typing does not send a request for each letter.
 * @param pauseMs for how long it must have been the same.
 */
export function useIsPaused(value: string | null, pauseMs: number): boolean {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return value === paused;
}
