import { groupDigits, pluralize } from '@flywheel/protocol';
import { isFlywheelError } from '@flywheel/sdk';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { EmptyState, ErrorNotice, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AuditResult } from './audit-result.tsx';
import { type AuditProgress, progressOf } from './run-audit.ts';
import type { EndedAudit, SavedAudit } from './saved-audits.ts';

export interface AuditViewProps {
  readonly saved: UseQueryResult<{ readonly audit: SavedAudit; readonly ended: EndedAudit | null } | null>;
  /** null unless the audit runs. */
  readonly progress: AuditProgress | null;
  readonly error: Error | null;
  readonly cancel: () => void;
  readonly resume: () => void;
  /** Deletes what this browser keeps of an audit. */
  readonly discard: (audit: SavedAudit) => void;
  readonly form: ReactNode;
}

/** The audit that runs, has stopped, or has ended; then the form for another one. */
export function AuditView({ saved, progress, error, cancel, resume, discard, form }: AuditViewProps) {
  return (
    <>
      {progress !== null && <RunningAudit progress={progress} onCancel={cancel} />}
      {progress === null && error !== null && (
        <>
          <ErrorNotice error={error} />
          {isFlywheelError(error) && <NodeHint />}
        </>
      )}
      {/* Without an audit the form comes first. */}
      <div aria-live="polite" className={cn('empty:hidden', saved.data === null && 'order-last')}>
        {progress === null && (
          <QueryView query={saved} skeleton={<SkeletonLines count={1} className="h-40" />}>
            {(found) => {
              if (found === null) return error === null && <NoAudit />;
              const { audit, ended } = found;
              const onDelete = () => discard(audit);
              if (ended === null) return <StoppedAudit audit={audit} onResume={resume} onDelete={onDelete} />;
              return <AuditResult key={audit.stamp} audit={audit} ended={ended} onDelete={onDelete} />;
            }}
          </QueryView>
        )}
      </div>
      {form}
    </>
  );
}

function RunningAudit({ progress, onCancel }: { readonly progress: AuditProgress; readonly onCancel: () => void }) {
  const { fraction } = progress;
  const label = 'Progress of the audit';
  return (
    <Panel title="Reading the chain" aside={<Button onClick={onCancel}>Cancel</Button>}>
      <div className="flex items-center gap-4">
        {fraction === null && <Ring size={28} progress={0.3} isSpinning label={label} className="text-accent" />}
        <div className="flex min-w-0 flex-1 flex-col gap-2">
          {fraction !== null && <progress aria-label={label} value={fraction} max={1} className={BAR} />}
          <p className="tabular text-quiet">{describeProgress(progress)}</p>
        </div>
      </div>
    </Panel>
  );
}

const BAR =
  'h-2 w-full appearance-none overflow-hidden rounded-sm bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent';

interface StoppedAuditProps {
  readonly audit: SavedAudit;
  readonly onResume: () => void;
  readonly onDelete: () => void;
}

function StoppedAudit({ audit, onResume, onDelete }: StoppedAuditProps) {
  return (
    <Notice
      tone="waiting"
      title="This audit has stopped"
      action={
        <div className="flex flex-wrap gap-2">
          <Button tone="quiet" onClick={onDelete}>
            Delete
          </Button>
          <Button tone="primary" onClick={onResume}>
            Resume
          </Button>
        </div>
      }
    >
      <p>
        {audit.state === null
          ? 'Nothing is read yet.'
          : `${describeProgress(progressOf(audit.state))}. Resume continues from there.`}{' '}
        This browser keeps it.
      </p>
    </Notice>
  );
}

/** Returns `2,716 transactions read, back to slot 311,204,518`. */
function describeProgress({ read, slot }: AuditProgress): string {
  if (slot === null) return 'Asking the node for the vault’s accounts';
  return `${pluralize(read, 'transaction')} read, back to slot ${groupDigits(String(slot))}`;
}

function NoAudit() {
  return (
    <EmptyState title="No audit yet">
      <p>
        An audit adds up all that the vault did in a period: what it burned, airdropped and paid out, each with its
        proof. It finds what went out without one. Long histories take some minutes; you can cancel and resume.
      </p>
      <p>
        The node is trusted to show transactions as they were: choose one yourself, or audit with two and compare. In a
        terminal, <code>flywheel audit</code> does the same.
      </p>
    </EmptyState>
  );
}

function NodeHint() {
  return (
    <p className="text-sm text-quiet">
      Some nodes refuse web pages or many requests. Try another one, lower the requests per second, or use{' '}
      <code>flywheel audit</code> in a terminal. What was read is kept.
    </p>
  );
}
