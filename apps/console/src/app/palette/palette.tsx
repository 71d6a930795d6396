import { useNavigate, useParams } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useEffect, useRef, useState } from 'react';
import { useSession, useSignOut } from '../../lib/session.ts';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from '../screens.ts';
import { BatchItems } from './batch-items.tsx';
import { ChainItems } from './chain-items.tsx';
import { PaletteItem } from './palette-item.tsx';
import { ProjectItems } from './project-items.tsx';

/** Finds any screen, project, batch, address or signature by what is typed. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { projectId } = useParams({ strict: false });
  const session = useSession();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [typed, setTyped] = useState('');
  useEffect(() => {
    dialog.current?.showModal();
    // The list around it takes focus too, and comes first.
    dialog.current?.querySelector('input')?.focus();
  }, []);
  const go = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  const text = typed.trim();
  return (
    <dialog
      ref={dialog}
      onClose={onClose}
      aria-label="Find"
      className="arriving mx-auto mt-[12vh] w-[min(600px,calc(100vw-32px))] overflow-hidden rounded-lg border bg-raised p-0 text-ink"
    >
      <Command label="Find" loop>
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          placeholder="A screen, batch, address or signature"
          className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-quiet"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto p-2">
          <Command.Empty className="px-3 py-6 text-center text-quiet">Nothing here is called that.</Command.Empty>
          <ChainItems text={text} go={go} />
          {projectId !== undefined &&
            PROJECT_SCREENS.map(({ to, name, letter }) => (
              <PaletteItem
                key={to}
                value={name}
                letter={letter}
                onSelect={go(() => navigate({ to, params: { projectId } }))}
              >
                {name}
              </PaletteItem>
            ))}
          {session && <BatchItems text={text} projectId={projectId} go={go} />}
          {[...SCREENS, ...(session?.isCompanyOperator ? COMPANY_SCREENS : [])].map(({ to, name, letter }) => (
            <PaletteItem key={to} value={name} letter={letter} onSelect={go(() => navigate({ to }))}>
              {name}
            </PaletteItem>
          ))}
          {session && <ProjectItems go={go} />}
          <PaletteItem value="Docs, API reference" onSelect={go(() => location.assign('/docs'))}>
            Docs
          </PaletteItem>
          {session && (
            <PaletteItem value="Sign out" onSelect={go(() => signOut.mutate())}>
              Sign out
            </PaletteItem>
          )}
        </Command.List>
      </Command>
    </dialog>
  );
}
