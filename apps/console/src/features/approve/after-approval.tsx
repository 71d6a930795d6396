import type { BatchDetail } from '@flywheel/api';
import type { ReactNode } from 'react';
import { count } from '../../lib/text/count.ts';
import { classes } from '../../ui/classes.ts';
import { Gauge } from '../../ui/drawn/gauge.tsx';
import { Ring } from '../../ui/drawn/ring.tsx';
import { ButtonLink } from '../../ui/form/button.tsx';
import { STATE_COLOURS } from '../../ui/show/state.ts';
import { standingOf } from '../batch/batch-standing.tsx';
import { FailureNotice } from '../batch/failure-notice.tsx';
import type { ApprovalStage } from './approval-stage.ts';

export interface AfterApprovalProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  readonly stage: Exclude<ApprovalStage, 'yourTurn'>;
}

/** What happens while nothing is asked of the wallet: before its turn, and after. */
export function AfterApproval({ projectId, batch, stage }: AfterApprovalProps) {
  const { closed, state } = standingOf(batch);
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
