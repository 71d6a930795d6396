import type { KeySummary } from '@flywheel/api';
import { serviceNow } from '../../lib/api/clock.ts';
import { Button } from '../../ui/button.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TimeText } from '../../ui/text.tsx';
import { displayName } from './key-dialogs.tsx';

export interface KeyTableProps {
  readonly label: string;
  readonly keys: readonly KeySummary[];
  /** All keys of the project, to find the successor of a rotated one. */
  readonly allKeys: readonly KeySummary[];
  /** Called when a person wants to change a key. Without it the table has no buttons. */
  readonly onChange?: (change: KeyChange) => void;
}

/** A dialog that a person has opened for a key. */
export interface KeyChange {
  readonly apiKey: KeySummary;
  readonly dialog: 'rotate' | 'revoke';
}

/** Lists keys; a key that is being replaced shows how long both keys work, or that its successor has ended. */
export function KeyTable({ label, keys, allKeys, onChange }: KeyTableProps) {
  const columns =
    onChange === undefined
      ? COLUMNS
      : [
          ...COLUMNS,
          {
            name: 'Actions',
            isPlain: true,
            isNarrow: true,
            render: (key: KeySummary) => <KeyActions apiKey={key} onChange={onChange} />,
          },
        ];
  const overlapOf = (old: KeySummary) => {
    const next = old.state === 'replaced' ? allKeys.find(({ keyId }) => keyId === old.replacedBy) : undefined;
    if (next === undefined) return undefined;
    return hasEnded(next) ? <SuccessorEnded old={old} next={next} /> : <OverlapChart old={old} next={next} />;
  };
  return <Table label={label} columns={columns} rows={keys} keyOf={({ keyId }) => keyId} under={overlapOf} />;
}

const COLUMNS: readonly Column<KeySummary>[] = [
  {
    name: 'Key',
    isPlain: true,
    render: (key) => (
      <span className="flex flex-col">
        <span className="font-medium">{key.name ?? 'Unnamed'}</span>
        <code className="text-xs text-quiet">{key.prefix}…</code>
      </span>
    ),
  },
  { name: 'Scopes', render: ({ scopes }) => scopes.join(', ') },
  {
    name: 'Last used',
    render: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'never' : <TimeText at={lastUsedAt} />),
  },
  {
    name: 'Expires',
    render: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <TimeText at={expiresAt} />),
  },
  { name: 'Status', render: (key) => <KeyStatus {...key} /> },
];

function KeyStatus({ state, revokedAt }: KeySummary) {
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

interface KeyActionsProps {
  readonly apiKey: KeySummary;
  readonly onChange: (change: KeyChange) => void;
}

function KeyActions({ apiKey, onChange }: KeyActionsProps) {
  if (hasEnded(apiKey)) return null;
  const name = displayName(apiKey);
  return (
    <span className="flex gap-2 md:justify-end">
      {apiKey.state === 'active' && (
        <Button size="small" aria-label={`Rotate ${name}`} onClick={() => onChange({ apiKey, dialog: 'rotate' })}>
          Rotate
        </Button>
      )}
      <Button
        size="small"
        tone="danger"
        aria-label={`Revoke ${name}`}
        onClick={() => onChange({ apiKey, dialog: 'revoke' })}
      >
        Revoke
      </Button>
    </span>
  );
}

function hasEnded({ state }: KeySummary): boolean {
  return state === 'revoked' || state === 'expired';
}

interface RotatedKeyProps {
  readonly old: KeySummary;
  /** The key that replaces it. */
  readonly next: KeySummary;
}

/** Says that a replaced key ends without a successor. */
function SuccessorEnded({ old, next }: RotatedKeyProps) {
  return (
    <p className="rounded border bg-sunken p-3 text-sm">
      The key that replaces it, <code>{next.prefix}…</code>, {next.state === 'revoked' ? 'was revoked' : 'has expired'}.
      {old.expiresAt !== undefined && (
        <>
          {' '}
          This one works until <TimeText at={old.expiresAt} />: create a new key before then.
        </>
      )}
    </p>
  );
}

/** Margin before the rotation and after the old key’s end, as a share of the overlap. */
const MARGIN = 0.18;

/** Shows when each of two keys works, as two bars on one time axis. Two rectangles need no chart library. */
function OverlapChart({ old, next }: RotatedKeyProps) {
  const startMs = Date.parse(next.dateCreated);
  const endMs = Date.parse(old.expiresAt ?? next.dateCreated);
  const spanMs = Math.max(1, endMs - startMs) * (1 + 2 * MARGIN);
  const percentAt = (ms: number) =>
    Math.min(100, Math.max(0, ((ms - startMs) / spanMs + MARGIN / (1 + 2 * MARGIN)) * 100));
  const now = percentAt(serviceNow());
  return (
    <figure className="flex flex-col gap-1.5 rounded border bg-sunken p-3">
      <div className="grid grid-cols-[auto_1fr] items-center gap-x-3 gap-y-1.5 text-xs">
        <code>{old.prefix}…</code>
        <Bar from={0} to={percentAt(endMs)} now={now} className="fill-waiting" />
        <code>{next.prefix}…</code>
        <Bar from={percentAt(startMs)} to={100} now={now} className="fill-done" />
      </div>
      <figcaption className="text-sm">
        Both keys work until {old.expiresAt === undefined ? 'further notice' : <TimeText at={old.expiresAt} />}. Switch
        to the new key before then. The old key{' '}
        {old.lastUsedAt === undefined ? (
          'has never been used'
        ) : (
          <>
            was last used <TimeText at={old.lastUsedAt} />
          </>
        )}
        .
      </figcaption>
    </figure>
  );
}

interface BarProps {
  /** Percent of the axis, like `to` and `now`. */
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly className: string;
}

function Bar({ from, to, now, className }: BarProps) {
  return (
    <svg aria-hidden viewBox="0 0 100 10" preserveAspectRatio="none" className="h-2.5 w-full overflow-visible">
      <rect width="100" height="10" className="fill-line" />
      <rect x={from} width={Math.max(0, to - from)} height="10" className={className} />
      <rect x={now} y="-3" width="0.4" height="16" className="fill-ink" />
    </svg>
  );
}
