import type { BatchRow } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { recentBatchesQuery } from '../../lib/api/batches.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { ActionMixBar } from '../../ui/charts.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AmountText, TimeText } from '../../ui/text.tsx';
import { NoBatches } from '../batch/batch-status.tsx';
import {
  amountStage,
  batchKindName,
  batchState,
  hasPipelines,
  WITHDRAWAL_NAMES,
  withdrawnUnit,
} from '../batch/batch-summary.ts';

const SHOWN = 5;

export interface RecentBatchesProps {
  readonly projectId: string;
  /** Symbol of the token, or `tokens`. */
  readonly unit: string;
}

/** Shows the newest batches, with a link to all. */
export function RecentBatches({ projectId, unit }: RecentBatchesProps) {
  const batches = useQuery(recentBatchesQuery(projectId, SHOWN));
  return (
    <Panel
      title="Recent batches"
      aside={
        <ButtonLink to="/p/$projectId/batches" params={{ projectId }} size="small" tone="quiet">
          All batches
        </ButtonLink>
      }
      isFlush
    >
      <QueryView query={batches} skeleton={<SkeletonLines count={SHOWN} className="m-3 h-9" />} isFlush>
        {({ batches: found }) =>
          found.length === 0 ? (
            <div className="p-4">
              <NoBatches projectId={projectId} />
            </div>
          ) : (
            <Table
              label="Recent batches"
              columns={columnsOf(projectId, unit)}
              rows={found}
              keyOf={({ id }: BatchRow) => id}
            />
          )
        }
      </QueryView>
    </Panel>
  );
}

function columnsOf(projectId: string, unit: string): readonly Column<BatchRow>[] {
  return [
    {
      name: 'Batch',
      isPlain: true,
      render: (batch) => (
        <>
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId: batch.id }}
            className="tap flex min-h-6 items-center gap-3 font-medium underline-offset-2 hover:underline"
          >
            <span className="whitespace-nowrap">
              {batchKindName(batch.kind)} {batch.batchIndex}
            </span>
            <BatchStatus projectId={projectId} batch={batch} />
          </Link>
          {batch.withdrawal && (
            <span className="text-sm text-quiet">
              {WITHDRAWAL_NAMES[batch.status]}{' '}
              <AmountText amount={batch.withdrawal.amount} unit={withdrawnUnit(batch.withdrawal.asset, unit)} />
            </span>
          )}
        </>
      ),
    },
    { name: 'Created', render: ({ dateCreated }) => <TimeText at={dateCreated} /> },
    {
      name: 'Actions',
      isExtra: true,
      render: ({ actions, ...batch }) =>
        hasPipelines(batch) ? (
          <span className="block w-24">
            <ActionMixBar burns={actions.burn} airdrops={actions.airdrop} memos={actions.memo} />
          </span>
        ) : null,
    },
    { name: 'Pipelines', isExtra: true, isAmount: true, render: ({ pipelines }) => pipelines.toLocaleString('en') },
    {
      name: `Burn, ${unit}`,
      isAmount: true,
      render: ({ burned, ...batch }) => (hasPipelines(batch) ? <StagedAmount amount={burned} {...batch} /> : null),
    },
    {
      name: `Airdrop, ${unit}`,
      isAmount: true,
      render: ({ airdropped, ...batch }) =>
        hasPipelines(batch) ? <StagedAmount amount={airdropped} {...batch} /> : null,
    },
  ];
}

/** An amount, with a word if it is only planned or requested. */
function StagedAmount({ amount, status }: { readonly amount: string; readonly status: BatchRow['status'] }) {
  const stage = amount === '0' ? null : amountStage(status);
  return (
    <>
      <AmountText amount={amount} />
      {/* Below the amount: two columns of long amounts have no room for the word beside them. */}
      {stage && <span className="block text-xs text-quiet">{stage}</span>}
    </>
  );
}

function BatchStatus({ projectId, batch }: { readonly projectId: string; readonly batch: BatchRow }) {
  const isOwner = useOwnsProject(projectId);
  const { state, word } = batchState({ ...batch, isBlocked: batch.problem !== undefined, isOwner });
  return <StatusBadge status={state} label={word} />;
}
