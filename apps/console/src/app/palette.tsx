import { shorten } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { useEffect, useRef, useState } from 'react';
import { explorerLink, useEnvironment } from '../lib/api/environment.ts';
import { projectsQuery } from '../lib/api/projects.ts';
import { useSession, useSignOut } from '../lib/api/session.ts';
import { base58Kind, tokenName } from '../lib/format.ts';
import { BatchItems, BatchSearchStatus, useBatchSearch } from './palette-batches.tsx';
import { Item, type Run } from './palette-item.tsx';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from './screens.ts';

/** The command palette: finds screens, projects, batches, addresses and signatures. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { projectId } = useParams({ strict: false });
  const session = useSession();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [typed, setTyped] = useState('');
  const [selected, setSelected] = useState('');
  useEffect(() => {
    dialog.current?.showModal();
    // Without this the list would get the focus: it is focusable as well and comes first.
    dialog.current?.querySelector('input')?.focus();
  }, []);
  const run: Run = (command) => () => {
    onClose();
    void command();
  };
  const text = typed.trim();
  const search = useBatchSearch(session ? text : '', projectId);
  const { foundValue } = search;
  useEffect(() => {
    // The answer comes after the list has selected another item, and is what was asked for.
    if (foundValue !== null) setSelected(foundValue);
  }, [foundValue]);
  return (
    <dialog
      ref={dialog}
      onClose={onClose}
      aria-label="Command palette"
      className="arriving mx-auto mt-[12vh] w-[min(600px,calc(100vw-32px))] overflow-hidden rounded-lg border bg-raised p-0 text-ink"
    >
      <Command label="Command palette" loop value={selected} onValueChange={setSelected}>
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          placeholder="Find a screen, batch, address or signature"
          className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-quiet"
        />
        <BatchSearchStatus search={search} />
        <Command.List className="max-h-[50vh] overflow-y-auto p-2">
          {search.state === 'none' && (
            <Command.Empty className="px-3 py-6 text-center text-quiet">No results</Command.Empty>
          )}
          <ChainItems text={text} run={run} />
          {projectId !== undefined &&
            PROJECT_SCREENS.map(({ to, name, key }) => (
              <Item key={to} value={name} shortcut={key} onSelect={run(() => navigate({ to, params: { projectId } }))}>
                {name}
              </Item>
            ))}
          <BatchItems search={search} run={run} />
          {[...SCREENS, ...(session?.isCompanyOperator ? COMPANY_SCREENS : [])].map(({ to, name, key }) => (
            <Item key={to} value={name} shortcut={key} onSelect={run(() => navigate({ to }))}>
              {name}
            </Item>
          ))}
          {session && <ProjectItems run={run} />}
          <Item value="Docs, API reference" onSelect={run(() => location.assign('/docs'))}>
            Docs
          </Item>
          {session && (
            <Item value="Sign out" onSelect={run(() => signOut.mutate())}>
              Sign out
            </Item>
          )}
        </Command.List>
      </Command>
    </dialog>
  );
}

/** Commands for an address or a signature that was typed or pasted. */
function ChainItems({ text, run }: { readonly text: string; readonly run: Run }) {
  const navigate = useNavigate();
  const environment = useEnvironment();
  const kind = base58Kind(text);
  if (kind === null) return null;
  const link = explorerLink(environment, kind, text);
  return (
    <>
      {kind === 'signature' ? (
        <Item value={`proof ${text}`} onSelect={run(() => navigate({ to: '/proof', search: { signature: text } }))}>
          Check the proofs in transaction {shorten(text)}
        </Item>
      ) : (
        <>
          <Item
            value={`vault ${text}`}
            onSelect={run(() => navigate({ to: '/vault/$address', params: { address: text } }))}
          >
            Vault {shorten(text)}
          </Item>
          <Item
            value={`audit ${text}`}
            onSelect={run(() => navigate({ to: '/audit/$vault', params: { vault: text } }))}
          >
            Audit of vault {shorten(text)}
          </Item>
        </>
      )}
      {link !== null && (
        <Item value={`explorer ${text}`} onSelect={run(() => window.open(link, '_blank', 'noreferrer'))}>
          Open {shorten(text)} in the explorer
        </Item>
      )}
    </>
  );
}

/** Projects of the wallet, by token, vault or id. */
function ProjectItems({ run }: { readonly run: Run }) {
  const navigate = useNavigate();
  const { data } = useQuery(projectsQuery);
  return data?.projects.map(({ id, token, vaultAddress }) => (
    <Item
      key={id}
      value={`project ${tokenName(token)} ${token.mint} ${vaultAddress} ${id}`}
      onSelect={run(() => navigate({ to: '/p/$projectId', params: { projectId: id } }))}
    >
      Project {tokenName(token)}
      <span className="ml-2 font-mono text-sm text-quiet">{shorten(token.mint)}</span>
    </Item>
  ));
}
