import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { defaultKeybindingsHandlerIgnore, type KeybindingsMap, tinykeys } from 'tinykeys';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from './screens.ts';

/** Registers the shortcuts: ⌘K or Ctrl+K opens the palette; `g b`, `g k`, `g v` and so on open a screen. */
export function useShortcuts({ onPalette }: { readonly onPalette: () => void }): void {
  const navigate = useNavigate();
  const { projectId } = useParams({ strict: false });
  const openPalette = useRef(onPalette);
  openPalette.current = onPalette;
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      event.preventDefault();
      openPalette.current();
    };
    // Works while typing as well, unlike the sequences below.
    return tinykeys(window, { 'Meta+k': open, 'Control+k': open }, { ignore: () => false });
  }, []);
  useEffect(() => {
    const bindings: KeybindingsMap = {};
    for (const { key, to } of [...SCREENS, ...COMPANY_SCREENS]) {
      if (key !== null) bindings[`g ${key}`] = () => void navigate({ to });
    }
    for (const { key, to } of projectId === undefined ? [] : PROJECT_SCREENS) {
      bindings[`g ${key}`] = () => void navigate({ to, params: { projectId: projectId ?? '' } });
    }
    return tinykeys(window, bindings, {
      ignore: (event) => isDialogOpen() || defaultKeybindingsHandlerIgnore(event),
    });
  }, [navigate, projectId]);
}

function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}
