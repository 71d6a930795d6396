import type { BatchDetail } from '@flywheel/api';
import { useParams } from '@tanstack/react-router';
import { useLiveBatch } from '../../lib/service/use-live-batch.ts';
import { count } from '../../lib/text/count.ts';
import { ButtonLink } from '../../ui/form/button.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { BatchSkeleton } from './batch-skeleton.tsx';
import { BatchStanding } from './batch-standing.tsx';
import { BatchTimeline } from './batch-timeline.tsx';
import { CancelButton } from './cancel/cancel-button.tsx';
import { FailureNotice } from './failure-notice.tsx';
import { kindName } from './kind-name.ts';
import { LedgerPanel } from './ledger-panel.tsx';
import { PipelineList } from './pipelines/pipeline-list.tsx';
import { ReceiptButton } from './receipt/receipt-button.tsx';
import { ResultsPanel } from './results-panel.tsx';

/** A batch from init to the last lamport, as it moves. */
export function BatchScreen() {
  const { projectId, batchId } = useParams({ from: '/p/$projectId/batches/$batchId' });
  const batch = useLiveBatch(projectId, batchId);
  return (
    <Loaded query={batch} skeleton={<BatchSkeleton />}>
      {(found) => <Found projectId={projectId} batch={found} />}
    </Loaded>
  );
}

function Found({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const { id, batchIndex, dateCreated, ledger } = batch.batch;
  const isMyTurn = batch.waitsFor === 'wallet';
  const approve = (
    <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId: id }} tone="primary">
      Look and approve
    </ButtonLink>
  );
  return (
    <Page
      title={`${kindName(batch.kind)} ${batchIndex}`}
      lead={
        <span className="flex flex-wrap items-center gap-x-3">
          <TimeText at={dateCreated} />
          <AddressText address={id} of="batch id" />
        </span>
      }
      action={
        <div className="flex gap-2">
          <CancelButton projectId={projectId} batch={batch} />
          {batch.executedPipelines > 0 && <ReceiptButton batch={batch} />}
        </div>
      }
    >
      <BatchStanding batch={batch} />
      {batch.failure && <FailureNotice failure={batch.failure} />}
      <div className="grid gap-6 lg:grid-cols-[320px_minmax(0,1fr)] lg:items-start">
        <div className="lg:sticky lg:top-20">
          <Panel title="Timeline">
            <BatchTimeline progress={batch} approveAction={<span className="hidden md:block">{approve}</span>} />
          </Panel>
        </div>
        <Panel title="Pipelines" aside={<PipelineCount batch={batch} />}>
          <PipelineList pipelines={batch.pipelines} />
        </Panel>
      </div>
      <ResultsPanel batch={batch.batch} />
      {ledger && <LedgerPanel ledger={ledger} />}
      {isMyTurn && (
        // Where a thumb is.
        <div className="sticky bottom-0 -mx-4 -mb-6 flex border-t bg-paper p-4 *:flex-1 md:hidden">{approve}</div>
      )}
    </Page>
  );
}

function PipelineCount({ batch: { pipelines } }: { readonly batch: BatchDetail }) {
  const actions = pipelines.reduce((sum, pipeline) => sum + pipeline.actions.length, 0);
  const instructions = pipelines.reduce((sum, pipeline) => sum + pipeline.instructions.length, 0);
  return (
    <span className="tabular text-sm text-quiet">
      {count(pipelines.length, 'pipeline')}, {count(actions, 'action')}, {count(instructions, 'instruction')}
    </span>
  );
}
