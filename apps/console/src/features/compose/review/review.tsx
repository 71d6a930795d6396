import type { Pipeline, ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { count } from '../../../lib/text/count.ts';
import { Ring } from '../../../ui/drawn/ring.tsx';
import { Button } from '../../../ui/form/button.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';
import { Panel } from '../../../ui/state/panel.tsx';
import { PipelineList } from '../../batch/pipelines/pipeline-list.tsx';
import { CreatedBatches } from './created-batches.tsx';
import { previewBatches } from './preview-batches.ts';
import { ReviewProblems } from './review-problems.tsx';
import { ReviewSumsPanel } from './review-sums.tsx';
import { sumPreviews } from './sum-previews.ts';
import { useCreateBatches } from './use-create-batches.ts';

export interface ReviewProps {
  readonly projectId: string;
  readonly token: ProjectOverview['token'];
  readonly batches: readonly (readonly Pipeline[])[];
  readonly onBack: () => void;
}

/** What the service says of the batches before they are made; then they are. */
export function Review({ projectId, token, batches, onBack }: ReviewProps) {
  const navigate = useNavigate();
  const [id] = useState(() => crypto.randomUUID());
  const [checked, setChecked] = useState(0);
  const preview = useQuery({
    queryKey: ['preview', id],
    queryFn: () => previewBatches({ projectId, batches, onProgress: setChecked }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { create, created } = useCreateBatches({ projectId, batches });
  const begin = () =>
    create.mutate(undefined, {
      onSuccess: ([batchId, ...others]) => {
        if (batchId === undefined || others.length > 0) return;
        void navigate({ to: '/p/$projectId/approve/$batchId', params: { projectId, batchId } });
      },
    });
  if (created.length > 0 && batches.length > 1) {
    return (
      <CreatedBatches
        projectId={projectId}
        batchIds={created}
        expected={batches.length}
        error={create.error}
        isBusy={create.isPending}
        onRetry={begin}
      />
    );
  }
  const sums = preview.data && sumPreviews(preview.data);
  const sizes = preview.data?.flatMap((found) => found.pipelines) ?? [];
  const pipelines = batches.flat().map((pipeline, position) => ({ ...pipeline, ...sizes[position] }));
  return (
    <div className="flex flex-col gap-6">
      <div>
        <Button size="small" onClick={onBack}>
          <ArrowLeft size={14} aria-hidden /> Back to editing
        </Button>
      </div>
      {preview.isPending && <Checking checked={checked} total={batches.length} />}
      {preview.error && <ErrorNotice error={preview.error} onRetry={() => void preview.refetch()} />}
      {sums && (
        <>
          <ReviewProblems sums={sums} rowOf={(batch, place) => rowOf(batches[batch] ?? [], place)} />
          <ReviewSumsPanel projectId={projectId} sums={sums} token={token} />
        </>
      )}
      <Panel
        title={batches.length === 1 ? 'The batch' : `${batches.length} batches`}
        aside={<span className="tabular text-sm text-quiet">{count(pipelines.length, 'pipeline')}</span>}
      >
        <PipelineList pipelines={pipelines} />
      </Panel>
      {create.error && <ErrorNotice error={create.error} onRetry={begin} />}
      <Footer>
        <Button tone="primary" disabled={!sums || sums.isRefused} isBusy={create.isPending} onClick={begin}>
          {batches.length === 1 ? 'Create the batch' : `Create ${batches.length} batches`}
        </Button>
        <p className="text-sm text-quiet">Nothing moves yet: you look at what is on chain and sign, next.</p>
      </Footer>
    </div>
  );
}

function Checking({ checked, total }: { readonly checked: number; readonly total: number }) {
  return (
    <div role="status" className="flex min-h-28 items-center gap-3 rounded-lg border bg-raised p-4">
      <Ring size={24} closed={0.7} isTurning className="text-accent" />
      <p>
        Compiling and simulating every pipeline{total > 1 && `, ${checked} of ${total} batches done`}. Nothing is
        stored.
      </p>
    </div>
  );
}

function Footer({ children }: { readonly children: ReactNode }) {
  return (
    <div className="sticky bottom-0 -mx-4 -mb-6 flex flex-col gap-2 border-t bg-paper p-4 md:static md:m-0 md:flex-row md:items-center md:gap-4 md:border-0 md:p-0">
      {children}
    </div>
  );
}

/** The row of a file that an action came from, by what its pipeline’s payload says of it. */
function rowOf(pipelines: readonly Pipeline[], place: string): number | null {
  const [, pipeline, action] = /^pipelines\[(\d+)\]\.actions\[(\d+)\]/.exec(place) ?? [];
  const found = pipelines[Number(pipeline)];
  if (!found || action === undefined) return null;
  const payload: unknown = JSON.parse(found.payload);
  const isFromFile = typeof payload === 'object' && payload !== null && 'sha256' in payload && 'lines' in payload;
  if (!isFromFile || !Array.isArray(payload.lines) || payload.lines.length !== found.actions.length) return null;
  const line: unknown = payload.lines[Number(action)];
  return typeof line === 'number' ? line : null;
}
