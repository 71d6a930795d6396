import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/** A second key later than this begins anew. */
const CHORD_MS = 1_200;

/** Where `g` and a letter lead, inside a project. */
const PLACES = {
  o: '/p/$projectId',
  b: '/p/$projectId/batches',
  n: '/p/$projectId/new',
  v: '/p/$projectId/vault',
  k: '/p/$projectId/keys',
  s: '/p/$projectId/settings',
} as const;

/** Where they lead from anywhere. */
const SCREENS = { h: '/', p: '/proof', c: '/company' } as const;

/** ⌘K opens the palette; `g b`, `g k`, `g v` and their like lead to the screens of the project at hand. */
export function useShortcuts({ onPalette }: { readonly onPalette: () => void }): void {
  const navigate = useNavigate();
  const { projectId } = useParams({ strict: false });
  const openPalette = useRef(onPalette);
  openPalette.current = onPalette;
  useEffect(() => {
    let chordUntilMs = 0;
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        openPalette.current();
        return;
      }
      if (isTyping(event) || isAnswering() || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'g') {
        chordUntilMs = performance.now() + CHORD_MS;
        return;
      }
      const isSecond = performance.now() < chordUntilMs;
      chordUntilMs = 0;
      if (!isSecond) return;
      if (isScreen(event.key)) void navigate({ to: SCREENS[event.key] });
      else if (projectId !== undefined && isPlace(event.key))
        void navigate({ to: PLACES[event.key], params: { projectId } });
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [navigate, projectId]);
}

function isScreen(key: string): key is keyof typeof SCREENS {
  return Object.hasOwn(SCREENS, key);
}

function isPlace(key: string): key is keyof typeof PLACES {
  return Object.hasOwn(PLACES, key);
}

/** A dialog is open: what it asks comes first. */
function isAnswering(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
