import { shorten } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { batchKindName, batchState } from '../features/batch/batch-summary.ts';
import { recentBatchesQuery } from '../lib/api/batches.ts';
import { explorerLink, useEnvironment } from '../lib/api/environment.ts';
import { projectsQuery } from '../lib/api/projects.ts';
import { useSession, useSignOut } from '../lib/api/session.ts';
import { base58Kind, tokenName } from '../lib/format.ts';
import { COMPANY_SCREENS, PROJECT_SCREENS, SCREENS } from './screens.ts';

/** The command palette: finds screens, projects, batches, addresses and signatures. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { projectId } = useParams({ strict: false });
  const session = useSession();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [typed, setTyped] = useState('');
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
  return (
    <dialog
      ref={dialog}
      onClose={onClose}
      aria-label="Command palette"
      className="arriving mx-auto mt-[12vh] w-[min(600px,calc(100vw-32px))] overflow-hidden rounded-lg border bg-raised p-0 text-ink"
    >
      <Command label="Command palette" loop>
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          placeholder="Find a screen, batch, address or signature"
          className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-quiet"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto p-2">
          <Command.Empty className="px-3 py-6 text-center text-quiet">No results</Command.Empty>
          <ChainItems text={text} run={run} />
          {projectId !== undefined &&
            PROJECT_SCREENS.map(({ to, name, key }) => (
              <Item key={to} value={name} shortcut={key} onSelect={run(() => navigate({ to, params: { projectId } }))}>
                {name}
              </Item>
            ))}
          {session && <BatchItems text={text} projectId={projectId} run={run} />}
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

/** Makes a handler that closes the palette and then runs a command. */
type Run = (command: () => unknown) => () => void;

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

interface BatchItemsProps {
  readonly text: string;
  /** Project of the current screen, if it has one. */
  readonly projectId: string | undefined;
  readonly run: Run;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Newest batches of the current project that can be found by number. */
const SEARCHED_BATCHES = 50;

/** Batches by number in the current project, or by id in any project of the wallet. */
function BatchItems({ text, projectId, run }: BatchItemsProps) {
  const navigate = useNavigate();
  const { data: recent } = useQuery({
    ...recentBatchesQuery(projectId ?? '', SEARCHED_BATCHES),
    enabled: projectId !== undefined && text !== '',
    refetchInterval: false,
  });
  const { data: projects } = useQuery({ ...projectsQuery, enabled: UUID.test(text) });
  const open = (inProject: string, batchId: string) =>
    run(() => navigate({ to: '/p/$projectId/batches/$batchId', params: { projectId: inProject, batchId } }));
  if (UUID.test(text)) {
    const ids = projectId === undefined ? (projects?.projects ?? []).map(({ id }) => id) : [projectId];
    const tokenOf = (id: string) => {
      const token = projects?.projects.find((project) => project.id === id)?.token;
      return token ? ` of ${tokenName(token)}` : '';
    };
    return ids.map((id) => (
      <Item key={id} value={`batch ${text} ${id}`} onSelect={open(id, text)}>
        Batch {shorten(text)}
        {tokenOf(id)}
      </Item>
    ));
  }
  if (projectId === undefined || text === '') return null;
  const number = /^#(\d+)$/.exec(text)?.[1] ?? '';
  // The palette finds “2” also within ids.
  const found = recent?.batches.filter(({ batchIndex }) => batchIndex.startsWith(number));
  return found?.map((batch) => {
    const { id, batchIndex, types, problem } = batch;
    const name = `${batchKindName(batch.kind)} ${batchIndex}`;
    return (
      <Item key={id} value={`${name} #${batchIndex} ${id} ${types.join(' ')}`} onSelect={open(projectId, id)}>
        {name}
        <span className="ml-2 text-quiet">{batchState({ ...batch, isBlocked: problem !== undefined }).word}</span>
      </Item>
    );
  });
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

interface ItemProps {
  /** Text that the search matches; unique in the palette. */
  readonly value: string;
  /** The key that does the same after `g`. */
  readonly shortcut?: string | null;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

function Item({ value, shortcut = null, onSelect, children }: ItemProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-11 items-center md:min-h-10 justify-between gap-4 rounded px-3 data-[selected=true]:bg-sunken"
    >
      <span className="min-w-0 truncate">{children}</span>
      <kbd className="shrink-0 font-mono text-xs text-quiet max-md:hidden">{shortcut && `g ${shortcut}`}</kbd>
    </Command.Item>
  );
}
