import { useSyncExternalStore } from 'react';

/** Tailwind’s `md`: from here on tables are tables. */
const QUERY = '(min-width: 48rem)';

/** Whether the window is wider than a phone’s. For what styles alone cannot say. */
export function useIsWide(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(QUERY).matches);
}

function subscribe(onChange: () => void): () => void {
  const list = matchMedia(QUERY);
  list.addEventListener('change', onChange);
  return () => list.removeEventListener('change', onChange);
}
