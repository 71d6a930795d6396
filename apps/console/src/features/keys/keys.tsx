import type { KeySummary } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { keysQuery } from '../../lib/api/keys.ts';
import { projectQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { currentSample } from '../../lib/samples.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { CreateKeyDialog, RevokeKeyDialog, RotateKeyDialog } from './key-dialogs.tsx';
import { type KeyChange, KeyTable } from './key-table.tsx';

/** The API keys of a project: create, rotate, revoke. */
export function Keys() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const keys = useQuery(keysQuery(projectId));
  const project = useQuery(projectQuery(projectId));
  const mayChange = useOwnsProject(projectId);
  const [isCreating, setCreating] = useState(false);
  // A change outlives the row of its key, which loses its buttons when the key stops working. The closed dialog keeps the key.
  const [change, setChange] = useState<KeyChange | null>(null);
  const [isChanging, setChanging] = useState(false);
  const open = () => setCreating(true);
  const openChange = (next: KeyChange) => {
    setChange(next);
    setChanging(true);
  };
  const closeChange = () => setChanging(false);
  return (
    <Page
      title="API keys"
      lead="A key can create batches. It cannot approve them: only your wallet can."
      action={
        mayChange && (
          <Button tone="primary" onClick={open}>
            <Plus size={16} aria-hidden /> Create a key
          </Button>
        )
      }
    >
      <QueryView query={keys} skeleton={<SkeletonLines count={3} className="h-20" />}>
        {({ keys: all }) =>
          all.length === 0 ? (
            <NoKeys onCreate={mayChange ? open : null} />
          ) : (
            <KeyLists keys={all} {...(mayChange && { onChange: openChange })} />
          )
        }
      </QueryView>
      <CreateKeyDialog
        projectId={projectId}
        scopes={project.data?.scopes ?? []}
        isOpen={isCreating}
        onClose={() => setCreating(false)}
      />
      {change && (
        <>
          <RotateKeyDialog
            {...{ projectId, apiKey: change.apiKey }}
            isOpen={isChanging && change.dialog === 'rotate'}
            onClose={closeChange}
          />
          <RevokeKeyDialog
            {...{ projectId, apiKey: change.apiKey }}
            isOpen={isChanging && change.dialog === 'revoke'}
            onClose={closeChange}
          />
        </>
      )}
    </Page>
  );
}

interface KeyListsProps {
  readonly keys: readonly KeySummary[];
  readonly onChange?: (change: KeyChange) => void;
}

function KeyLists({ keys, ...rest }: KeyListsProps) {
  const isInactive = ({ state }: KeySummary) => state === 'revoked' || state === 'expired';
  const inactive = keys.filter(isInactive);
  const active = keys.filter((key) => !isInactive(key));
  return (
    <div className="flex flex-col gap-4">
      {active.length > 0 ? (
        <Panel isFlush>
          <KeyTable label="Active keys" keys={active} allKeys={keys} {...rest} />
        </Panel>
      ) : (
        <p className="text-quiet">No active keys. The keys below are revoked or expired.</p>
      )}
      {inactive.length > 0 && (
        <details>
          <summary className="w-fit text-quiet">{pluralize(inactive.length, 'inactive key')}</summary>
          <Panel isFlush className="mt-3">
            <KeyTable label="Inactive keys" keys={inactive} allKeys={keys} />
          </Panel>
        </details>
      )}
    </div>
  );
}

function NoKeys({ onCreate }: { readonly onCreate: (() => void) | null }) {
  if (onCreate === null) {
    return (
      <EmptyState title="No API keys">
        <p>The server of a project creates batches with a key. This project has none.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No API keys">
      <p>Your server creates batches with a key. On this site you can compose batches without one.</p>
      <Button onClick={onCreate}>Create a key</Button>
      <div className="w-full text-left">
        <CodeBlock label="Then, from your server" code={currentSample()} />
      </div>
    </EmptyState>
  );
}
