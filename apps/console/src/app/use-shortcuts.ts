import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from './screens.ts';

/** A second key later than this begins anew. */
const CHORD_MS = 1_200;

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
      const place = [...SCREENS, ...COMPANY_SCREENS].find(({ letter }) => letter === event.key);
      const projectPlace = PROJECT_SCREENS.find(({ letter }) => letter === event.key);
      if (place) void navigate({ to: place.to });
      else if (projectPlace && projectId !== undefined) void navigate({ to: projectPlace.to, params: { projectId } });
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [navigate, projectId]);
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
