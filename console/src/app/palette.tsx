import { useNavigate, useParams } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useEffect, useRef, useState } from 'react';

/** Finds any screen, batch, address or signature by what is typed. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { projectId } = useParams({ strict: false });
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
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
          autoFocus
          value={typed}
          onValueChange={setTyped}
          placeholder="A screen, batch id, address or signature"
          className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-quiet"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto p-2">
          <Command.Empty className="px-3 py-6 text-center text-quiet">Nothing here is called that.</Command.Empty>
          {projectId !== undefined && UUID.test(text) && (
            <Item
              value={`batch ${text}`}
              keys=""
              onSelect={go(() =>
                navigate({ to: '/p/$projectId/batches/$batchId', params: { projectId, batchId: text } }),
              )}
            >
              Batch {text}
            </Item>
          )}
          {SIGNATURE.test(text) && (
            <Item value={text} keys="" onSelect={go(() => navigate({ to: '/proof', search: { signature: text } }))}>
              What does {text.slice(0, 8)}… prove?
            </Item>
          )}
          {ADDRESS.test(text) && (
            <Item
              value={text}
              keys=""
              onSelect={go(() => navigate({ to: '/vault/$address', params: { address: text } }))}
            >
              Vault {text}
            </Item>
          )}
          {projectId !== undefined &&
            PROJECT_SCREENS.map(({ to, name, keys }) => (
              <Item key={to} value={name} keys={keys} onSelect={go(() => navigate({ to, params: { projectId } }))}>
                {name}
              </Item>
            ))}
          {SCREENS.map(({ to, name, keys }) => (
            <Item key={to} value={name} keys={keys} onSelect={go(() => navigate({ to }))}>
              {name}
            </Item>
          ))}
        </Command.List>
      </Command>
    </dialog>
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{80,90}$/;
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

const PROJECT_SCREENS = [
  { to: '/p/$projectId', name: 'Overview', keys: 'g o' },
  { to: '/p/$projectId/batches', name: 'Batches', keys: 'g b' },
  { to: '/p/$projectId/new', name: 'New batch', keys: 'g n' },
  { to: '/p/$projectId/vault', name: 'Vault', keys: 'g v' },
  { to: '/p/$projectId/keys', name: 'Keys', keys: 'g k' },
  { to: '/p/$projectId/settings', name: 'Settings', keys: 'g s' },
] as const;

const SCREENS = [
  { to: '/', name: 'Your projects', keys: '' },
  { to: '/register', name: 'Register a project', keys: '' },
  { to: '/proof', name: 'Check a proof', keys: 'g p' },
  { to: '/company', name: 'Company', keys: '' },
] as const;

interface ItemProps {
  readonly value: string;
  readonly keys: string;
  readonly onSelect: () => void;
  readonly children: React.ReactNode;
}

function Item({ value, keys, onSelect, children }: ItemProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-10 items-center justify-between gap-4 rounded px-3 data-[selected=true]:bg-sunken"
    >
      <span className="truncate">{children}</span>
      <kbd className="font-mono text-xs text-quiet">{keys}</kbd>
    </Command.Item>
  );
}
