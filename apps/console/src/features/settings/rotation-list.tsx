import type { Rotation } from '@flywheel/api';
import { Link } from '@tanstack/react-router';
import { AddressText } from '../../ui/show/address-text.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';

export interface RotationListProps {
  readonly projectId: string;
  readonly rotations: readonly Rotation[];
}

/** Who has replaced whom, newest first; nothing where nobody has. */
export function RotationList({ projectId, rotations }: RotationListProps) {
  if (rotations.length === 0) return null;
  return (
    <ul aria-label="Replacements" className="flex flex-col divide-y border-t text-sm">
      {rotations.map(({ batchId, approver, from, to, status, dateCreated }) => (
        <li key={batchId} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
          <TimeText at={dateCreated} form="day" />
          <span>{approver === 'wallet' ? 'Wallet' : 'Company’s approver'}</span>
          <AddressText address={from} of="the one before" />
          <span aria-hidden>→</span>
          <AddressText address={to} of="the one since" />
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="ml-auto text-accent underline underline-offset-2"
          >
            {WORDS[status]}
          </Link>
        </li>
      ))}
    </ul>
  );
}

const WORDS = {
  AVAILABLE_TO_QUEUE: 'being set up',
  FINALIZED: 'to be approved',
  EXECUTED: 'done',
  FAILED: 'not done',
} as const satisfies { readonly [S in Rotation['status']]: string };
