import type { BatchDetail } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { projectQuery } from '../../lib/service/projects.ts';
import { useSession } from '../../lib/service/session.ts';
import { useLiveBatch } from '../../lib/service/use-live-batch.ts';
import { count } from '../../lib/text/count.ts';
import { classes } from '../../ui/classes.ts';
import { Gauge } from '../../ui/drawn/gauge.tsx';
import { Ring } from '../../ui/drawn/ring.tsx';
import { ButtonLink } from '../../ui/form/button.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { STATE_COLOURS } from '../../ui/show/state.ts';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { BatchSkeleton, BatchStatusCard, FailureNotice } from '../batch/batch-status.tsx';
import { type ApprovalStage, approvalStage, batchKindName, deriveBatchState } from '../batch/batch-summary.ts';
import { SignBatch } from './sign-batch.tsx';

/** A batch before a wallet: waited for, looked at, signed, followed to its end. */
export function Approve() {
  const { projectId, batchId } = useParams({ from: '/p/$projectId/approve/$batchId' });
  const batch = useLiveBatch(projectId, batchId);
  return (
    <Loaded query={batch} skeleton={<BatchSkeleton />}>
      {(found) => <Found projectId={projectId} batch={found} />}
    </Loaded>
  );
}

function Found({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const session = useSession();
  const project = useQuery(projectQuery(projectId));
  const stage = approvalStage(batch);
  return (
    <Page
      title={`Approve ${batchKindName(batch.kind).toLowerCase()} ${batch.batch.batchIndex}`}
      lead={<AddressText address={batch.batch.id} of="batch id" />}
    >
      {stage === 'yourTurn' ? (
        <>
          <BatchStatusCard batch={batch} />
          <Loaded query={project} skeleton={<BatchSkeleton />}>
            {({ wallet: owner }) => (
              <SignBatch projectId={projectId} batch={batch} owner={owner} wallet={session?.wallet ?? ''} />
            )}
          </Loaded>
        </>
      ) : (
        <AfterApproval projectId={projectId} batch={batch} stage={stage} />
      )}
    </Page>
  );
}

interface AfterApprovalProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  readonly stage: Exclude<ApprovalStage, 'yourTurn'>;
}

/** What happens while nothing is asked of the wallet: before its turn, and after. */
function AfterApproval({ projectId, batch, stage }: AfterApprovalProps) {
  const { closed, state } = deriveBatchState(batch);
  const { executedPipelines, pipelines, failure } = batch;
  const isOver = stage === 'over';
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col items-center gap-4 rounded-lg border bg-raised px-6 py-10 text-center">
        <Ring size={72} closed={closed} isTurning={state === 'running'} className={STATE_COLOURS[state]} />
        <div role="status">
          <p className={classes('text-xl font-semibold', isOver && STATE_COLOURS[state])}>{titleOf(batch, stage)}</p>
          <p className="text-quiet">{textOf(batch, stage)}</p>
        </div>
        {(stage === 'executing' || isOver) && (
          <div className="w-full max-w-md">
            <Gauge
              share={executedPipelines / Math.max(1, pipelines.length)}
              label="Executed"
              tone={state === 'failed' ? 'failed' : 'accent'}
            />
          </div>
        )}
        <ButtonLink
          to="/p/$projectId/batches/$batchId"
          params={{ projectId, batchId: batch.batch.id }}
          tone={isOver ? 'primary' : 'plain'}
        >
          {isOver ? 'See what happened' : 'Open the batch'}
        </ButtonLink>
      </div>
      {failure && <FailureNotice failure={failure} />}
    </div>
  );
}

function titleOf({ batch }: BatchDetail, stage: AfterApprovalProps['stage']): string {
  switch (stage) {
    case 'settingUp':
      return 'Setting up on chain';
    case 'company':
      return 'Waiting for the company';
    case 'executing':
      return 'Executing';
    case 'over':
      return batch.status === 'EXECUTED' ? 'Executed' : 'Failed';
    default:
      return stage satisfies never;
  }
}

function textOf({ executedPipelines, pipelines }: BatchDetail, stage: AfterApprovalProps['stage']): ReactNode {
  switch (stage) {
    case 'settingUp':
      return `${count(pipelines.length, 'message')} of it to write on chain. Then it is your turn, on this page.`;
    case 'company':
      return 'Your vote is in. A person of the company looks at the batch next; nothing more is asked of you.';
    case 'executing':
    case 'over':
      return `${executedPipelines.toLocaleString('en')} of ${count(pipelines.length, 'pipeline')} executed.`;
    default:
      return stage satisfies never;
  }
}
