import type { BatchDetail } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useLiveBatch } from '../../lib/api/live-batch.ts';
import { projectQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { useSession } from '../../lib/api/session.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Meter } from '../../ui/charts.tsx';
import { cn } from '../../ui/cn.ts';
import { QueryView } from '../../ui/feedback.tsx';
import { focusIfLost, useHeadingFocus } from '../../ui/focus-heading.ts';
import { Page } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { STATUS_COLORS } from '../../ui/status.ts';
import { AddressText } from '../../ui/text.tsx';
import { BatchNotFound, isNotFound } from '../batch/batch-not-found.tsx';
import { BatchSkeleton, BatchStatusCard, FailureNotice } from '../batch/batch-status.tsx';
import { type ApprovalStage, approvalStage, batchKindName, deriveBatchState } from '../batch/batch-summary.ts';
import { SignBatch } from './sign-batch.tsx';

/** The approval screen of a batch: setup, verification, signature, execution. */
export function Approve() {
  const { projectId, batchId } = useParams({ from: '/p/$projectId/approve/$batchId' });
  const batch = useLiveBatch(projectId, batchId);
  if (isNotFound(batch.error)) return <BatchNotFound projectId={projectId} />;
  return (
    <QueryView query={batch} skeleton={<BatchSkeleton />} errorTitle="Batch">
      {(found) => <ApproveBatch projectId={projectId} batch={found} />}
    </QueryView>
  );
}

function ApproveBatch({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const session = useSession();
  const project = useQuery(projectQuery(projectId));
  const stage = approvalStage(batch);
  const name = `${batchKindName(batch.kind)} ${batch.batch.batchIndex}`;
  useHeadingFocus(stage === 'wallet' ? 'approval' : 'status', 'main h1', focusIfLost);
  return (
    <Page
      title={stage === 'wallet' ? `Approve ${name.toLowerCase()}` : name}
      lead={<AddressText address={batch.batch.id} of="batch id" />}
    >
      {stage === 'wallet' ? (
        <>
          <BatchStatusCard projectId={projectId} batch={batch} />
          <QueryView query={project} skeleton={<BatchSkeleton />}>
            {({ wallet: owner }) => (
              <SignBatch projectId={projectId} batch={batch} owner={owner} wallet={session?.wallet ?? ''} />
            )}
          </QueryView>
        </>
      ) : (
        <ApprovalStatus projectId={projectId} batch={batch} stage={stage} />
      )}
    </Page>
  );
}

interface ApprovalStatusProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  readonly stage: Exclude<ApprovalStage, 'wallet'>;
}

/** Shows the progress of a batch while the wallet has nothing to sign: before its approval, and after. */
function ApprovalStatus({ projectId, batch, stage }: ApprovalStatusProps) {
  const { closed, state, word } = deriveBatchState(batch, useOwnsProject(projectId));
  const { executedPipelines, pipelines, failure } = batch;
  const isOver = stage === 'over';
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col items-center gap-4 rounded-lg border bg-raised px-6 py-10 text-center">
        <Ring size={72} progress={closed} isSpinning={state === 'running'} className={STATUS_COLORS[state]} />
        <div role="status">
          <p className={cn('text-xl font-semibold', isOver && STATUS_COLORS[state])}>{isOver ? word : TITLES[stage]}</p>
          <p className="text-quiet">{textOf(batch, stage)}</p>
        </div>
        {(stage === 'executing' || isOver) && (
          <div className="w-full max-w-md">
            <Meter
              share={executedPipelines / Math.max(1, pipelines.length)}
              label="Executed"
              tone={state === 'done' || state === 'failed' ? state : 'accent'}
            />
          </div>
        )}
        <ButtonLink
          to="/p/$projectId/batches/$batchId"
          params={{ projectId, batchId: batch.batch.id }}
          tone={isOver ? 'primary' : 'plain'}
        >
          View batch
        </ButtonLink>
      </div>
      {failure && <FailureNotice failure={failure} />}
    </div>
  );
}

const TITLES = {
  settingUp: 'Setting up on chain',
  company: 'Waiting for the company',
  executing: 'Executing',
} as const;

function textOf({ executedPipelines, pipelines }: BatchDetail, stage: ApprovalStatusProps['stage']): ReactNode {
  switch (stage) {
    case 'settingUp':
      return `Writing ${pluralize(pipelines.length, 'pipeline')} to the chain. You can approve here when this is done.`;
    case 'company':
      return 'You have approved. The company reviews the batch next; you have nothing left to do.';
    case 'executing':
    case 'over':
      return `${executedPipelines.toLocaleString('en')} of ${pluralize(pipelines.length, 'pipeline')} executed.`;
    default:
      return stage satisfies never;
  }
}
