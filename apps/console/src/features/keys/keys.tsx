import type { KeySummary } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { keysQuery } from '../../lib/api/keys.ts';
import { projectQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { Table } from '../../ui/table.tsx';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { KEY_COLUMNS, KeyActions } from './key-row.tsx';
import { OverlapBars } from './overlap-bars.tsx';

/** The project’s API keys: made, rotated and revoked here; each shown in full once. */
export function Keys() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const keys = useQuery(keysQuery(projectId));
  const project = useQuery(projectQuery(projectId));
  const mayChange = useOwnsProject(projectId);
  const [isCreating, setCreating] = useState(false);
  const open = () => setCreating(true);
  return (
    <Page
      title="API keys"
      lead="A key asks for batches. It cannot approve one: that takes your wallet."
      action={
        mayChange && (
          <Button tone="primary" onClick={open}>
            <Plus size={16} aria-hidden /> Create a key
          </Button>
        )
      }
    >
      <QueryView query={keys} skeleton={<SkeletonLines count={3} className="h-20" />}>
        {({ keys: found }) =>
          found.length === 0 ? (
            <NoKey onCreate={open} />
          ) : (
            <KeyLists projectId={projectId} keys={found} mayChange={mayChange} />
          )
        }
      </QueryView>
      <CreateKeyDialog
        projectId={projectId}
        scopes={project.data?.scopes ?? []}
        isOpen={isCreating}
        onClose={() => setCreating(false)}
      />
    </Page>
  );
}

interface KeyListsProps {
  readonly projectId: string;
  readonly keys: readonly KeySummary[];
  readonly mayChange: boolean;
}

function KeyLists({ projectId, keys, mayChange }: KeyListsProps) {
  const isOver = ({ state }: KeySummary) => state === 'revoked' || state === 'expired';
  const [past, current] = [keys.filter(isOver), keys.filter((key) => !isOver(key))];
  const columns = mayChange
    ? [
        ...KEY_COLUMNS,
        {
          name: 'Change',
          isPlain: true,
          isNarrow: true,
          render: (key: KeySummary) => <KeyActions projectId={projectId} apiKey={key} />,
        },
      ]
    : KEY_COLUMNS;
  const overlapOf = (old: KeySummary) => {
    const next = old.state === 'replaced' ? keys.find(({ keyId }) => keyId === old.replacedBy) : undefined;
    return next && <OverlapBars old={old} next={next} />;
  };
  return (
    <div className="flex flex-col gap-4">
      {current.length > 0 ? (
        <Panel isFlush>
          <Table label="Keys that work" columns={columns} rows={current} keyOf={keyIdOf} under={overlapOf} />
        </Panel>
      ) : (
        <p className="text-quiet">No key works any more: those below are revoked or expired.</p>
      )}
      {past.length > 0 && (
        <details>
          <summary className="w-fit text-quiet">
            {past.length} {past.length === 1 ? 'key that works' : 'keys that work'} no more
          </summary>
          <Panel isFlush className="mt-3">
            <Table label="Keys that work no more" columns={KEY_COLUMNS} rows={past} keyOf={keyIdOf} />
          </Panel>
        </details>
      )}
    </div>
  );
}

function keyIdOf({ keyId }: KeySummary): string {
  return keyId;
}

function NoKey({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <EmptyState title="No key">
      <p>Programs ask for batches with a key. You can also compose batches here, without one.</p>
      <Button onClick={onCreate}>Create a key</Button>
      <div className="w-full text-left">
        <CodeBlock
          label="Then, from anywhere"
          code={`curl ${location.origin}/v1/flywheel/batch/current -H "x-service-api-key: $KEY"`}
        />
      </div>
    </EmptyState>
  );
}
