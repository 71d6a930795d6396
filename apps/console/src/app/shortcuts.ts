import { useNavigate, useParams } from '@tanstack/react-router';
import { useLayoutEffect, useRef } from 'react';
import { defaultKeybindingsHandlerIgnore, tinykeys } from 'tinykeys';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from './screens.ts';

/** Longest pause between the two keys of a sequence. */
const SEQUENCE_TIMEOUT_MS = 1_500;

/** Registers the shortcuts: ⌘K or Ctrl+K opens the palette; `g b`, `g k`, `g v` and so on open a screen. */
export function useShortcuts({ onPalette }: { readonly onPalette: () => void }): void {
  const navigate = useNavigate();
  const { projectId } = useParams({ strict: false });
  // A ref, so that the bindings stay registered: a navigation between two keys must not cancel the sequence.
  const latest = useRef({ navigate, projectId, onPalette });
  latest.current = { navigate, projectId, onPalette };
  // Before the first paint: who sees the page can press its keys.
  useLayoutEffect(() => {
    const openPalette = (event: KeyboardEvent) => {
      event.preventDefault();
      latest.current.onPalette();
    };
    // Works while typing as well, unlike the sequences below.
    return tinykeys(window, { 'Meta+k': openPalette, 'Control+k': openPalette }, { ignore: () => false });
  }, []);
  useLayoutEffect(() => {
    const openScreen = (event: KeyboardEvent) => {
      const { navigate: go, projectId: current } = latest.current;
      const pressed = event.key.toLowerCase();
      const screen = [...SCREENS, ...COMPANY_SCREENS].find(({ key }) => key === pressed);
      const projectScreen = PROJECT_SCREENS.find(({ key }) => key === pressed);
      if (screen) void go({ to: screen.to });
      else if (projectScreen && current !== undefined)
        void go({ to: projectScreen.to, params: { projectId: current } });
    };
    // One binding for all keys: tinykeys 4.0.0 keeps a sequence pending when an earlier one with the same start fires,
    // and the next sequence is lost.
    return tinykeys(
      window,
      { 'g ([a-z])': openScreen },
      {
        timeout: SEQUENCE_TIMEOUT_MS,
        ignore: (event) => isDialogOpen() || defaultKeybindingsHandlerIgnore(event),
      },
    );
  }, []);
}

function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}
