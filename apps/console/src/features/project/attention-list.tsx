import type { Attention } from '@flywheel/api';
import { CircleAlert, Clock, type LucideIcon } from 'lucide-react';
import { classes } from '../../ui/classes.ts';
import { ButtonLink } from '../../ui/form/button.tsx';
import { Prose } from '../../ui/show/prose.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Panel } from '../../ui/state/panel.tsx';

export interface AttentionListProps {
  readonly projectId: string;
  readonly attention: readonly Attention[];
  /** The project’s own wallet looks on; others only read. */
  readonly mayChange: boolean;
}

/** What a person should look at, most urgent first, each with the way there. */
export function AttentionList({ projectId, attention, mayChange }: AttentionListProps) {
  return (
    <Panel title="Needs attention" aside={attention.length === 0 && <StateMark state="done" word="Nothing" />} isFlush>
      {attention.length > 0 && (
        <ul className="divide-y">
          {attention.map((item, place) => {
            const { Icon, className } = MARKS[item.kind];
            return (
              <li
                key={`${item.kind} ${item.batchId ?? item.keyId ?? ''} ${item.message}`}
                className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5"
              >
                <Icon size={17} aria-hidden className={classes('shrink-0', className)} />
                <p className="min-w-0 flex-1 basis-60 break-words">
                  <Prose text={item.message} />
                </p>
                <Way projectId={projectId} item={item} isFirst={place === 0} mayChange={mayChange} />
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

const WAITS = { Icon: Clock, className: 'text-waiting' };
const WRONG = { Icon: CircleAlert, className: 'text-failed' };

const MARKS: { readonly [Kind in Attention['kind']]: { readonly Icon: LucideIcon; readonly className: string } } = {
  APPROVE: WAITS,
  COMPANY: WAITS,
  TROUBLE: WRONG,
  UNDERFUNDED: WRONG,
  PAUSED: WRONG,
  LIMIT: WAITS,
  KEY_EXPIRES: WAITS,
  CLUSTER: WRONG,
};

interface WayProps {
  readonly projectId: string;
  readonly item: Attention;
  /** The most urgent of all. */
  readonly isFirst: boolean;
  readonly mayChange: boolean;
}

function Way({ projectId, item, isFirst, mayChange }: WayProps) {
  const { kind, batchId } = item;
  switch (kind) {
    case 'APPROVE':
      if (!mayChange) return <BatchLink projectId={projectId} batchId={batchId} />;
      return batchId === undefined ? null : (
        <ButtonLink
          to="/p/$projectId/approve/$batchId"
          params={{ projectId, batchId }}
          size="small"
          tone={isFirst ? 'primary' : 'plain'}
        >
          Look and approve
        </ButtonLink>
      );
    case 'COMPANY':
    case 'TROUBLE':
      return <BatchLink projectId={projectId} batchId={batchId} />;
    case 'UNDERFUNDED':
      return (
        <ButtonLink to="/p/$projectId/vault" params={{ projectId }} size="small">
          Deposit
        </ButtonLink>
      );
    case 'LIMIT':
      return (
        <ButtonLink to="/p/$projectId/settings" params={{ projectId }} size="small">
          See the limits
        </ButtonLink>
      );
    case 'KEY_EXPIRES':
      return (
        <ButtonLink to="/p/$projectId/keys" params={{ projectId }} size="small">
          See the keys
        </ButtonLink>
      );
    case 'PAUSED':
    case 'CLUSTER':
      return null;
    default:
      return kind satisfies never;
  }
}

interface BatchLinkProps {
  readonly projectId: string;
  readonly batchId: string | undefined;
}

function BatchLink({ projectId, batchId }: BatchLinkProps) {
  if (batchId === undefined) return null;
  return (
    <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
      See the batch
    </ButtonLink>
  );
}
