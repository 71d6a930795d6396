import type { KeySummary } from '@flywheel/api';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { TimeText } from '../../ui/text.tsx';
import { keyName } from './key-name.ts';
import { RevokeKeyDialog } from './revoke-key-dialog.tsx';
import { RotateKeyDialog } from './rotate-key-dialog.tsx';

/** What the list says of a key. */
export const KEY_COLUMNS: readonly Column<KeySummary>[] = [
  {
    name: 'Key',
    isPlain: true,
    render: (key) => (
      <span className="flex flex-col">
        <span className="font-medium">{key.name ?? 'Without a name'}</span>
        <code className="text-xs text-quiet">{key.prefix}…</code>
      </span>
    ),
  },
  { name: 'May', render: ({ scopes }) => scopes.join(', ') },
  {
    name: 'Last used',
    render: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'never' : <TimeText at={lastUsedAt} />),
  },
  {
    name: 'Expires',
    render: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <TimeText at={expiresAt} />),
  },
  { name: 'State', render: (key) => <KeyState {...key} /> },
];

function KeyState({ state, revokedAt }: KeySummary) {
  switch (state) {
    case 'active':
      return <StatusBadge status="done" label="Active" />;
    case 'replaced':
      return <StatusBadge status="waiting" label="Being replaced" />;
    case 'expired':
      return <StatusBadge status="failed" label="Expired" />;
    case 'revoked':
      return (
        <span className="flex flex-wrap items-baseline gap-x-1.5">
          <StatusBadge status="failed" label="Revoked" />
          {revokedAt !== undefined && (
            <span className="text-xs text-quiet">
              <TimeText at={revokedAt} form="day" />
            </span>
          )}
        </span>
      );
    default:
      return state satisfies never;
  }
}

/** What can be done with a key that still works. */
export function KeyActions({ projectId, apiKey }: { readonly projectId: string; readonly apiKey: KeySummary }) {
  const [asking, setAsking] = useState<'rotate' | 'revoke' | null>(null);
  const isOver = apiKey.state === 'revoked' || apiKey.state === 'expired';
  if (isOver) return null;
  const close = () => setAsking(null);
  const name = keyName(apiKey);
  return (
    <span className="flex gap-2 md:justify-end">
      {apiKey.state === 'active' && (
        <Button size="small" aria-label={`Rotate ${name}`} onClick={() => setAsking('rotate')}>
          Rotate
        </Button>
      )}
      <Button size="small" tone="danger" aria-label={`Revoke ${name}`} onClick={() => setAsking('revoke')}>
        Revoke
      </Button>
      <RotateKeyDialog {...{ projectId, apiKey }} isOpen={asking === 'rotate'} onClose={close} />
      <RevokeKeyDialog {...{ projectId, apiKey }} isOpen={asking === 'revoke'} onClose={close} />
    </span>
  );
}
