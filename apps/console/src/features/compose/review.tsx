import { BATCH_OPERATIONS, type Pipeline, type PreviewBatchResponse, type ProjectOverview } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { call } from '../../lib/api/call.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { MoreItems, Panel } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AddressText, MessageText } from '../../ui/text.tsx';
import { PipelineList } from '../batch/pipeline-list.tsx';
import { type PlannedBatch, type PreviewTotals, totalPreviews } from './planned-batches.ts';
import { ReviewTotals } from './review-totals.tsx';

interface ReviewProps {
  readonly projectId: string;
  readonly token: ProjectOverview['token'];
  readonly batches: readonly PlannedBatch[];
  readonly onBack: () => void;
  /** Called before the service is asked to create a batch, at each attempt. */
  readonly onSend: (batch: PlannedBatch) => void;
  /** Called when the service has created all batches. */
  readonly onCreated: () => void;
}

/** Previews batches with the service, then creates them. */
export function Review({ projectId, token, batches, onBack, onSend, onCreated }: ReviewProps) {
  const navigate = useNavigate();
  const [id] = useState(() => crypto.randomUUID());
  const [checked, setChecked] = useState(0);
  const preview = useQuery({
    queryKey: ['preview', id],
    queryFn: () => previewBatches({ projectId, batches, onProgress: setChecked }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { create, created } = useCreateBatches({ projectId, batches, onSend });
  const createBatches = () =>
    create.mutate(undefined, {
      onSuccess: ([batchId, ...others]) => {
        onCreated();
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
        onRetry={createBatches}
      />
    );
  }
  const sums = preview.data && totalPreviews(preview.data);
  const sizes = preview.data?.flatMap((found) => found.pipelines) ?? [];
  const pipelines = batches
    .flatMap((batch) => batch.pipelines)
    .map((pipeline, position) => ({ ...pipeline, ...sizes[position] }));
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap-reverse items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">Review</h2>
        {/* Going back would not end the creation: batches that the person means to correct would be created all the same. */}
        <Button size="small" disabled={create.isPending} onClick={onBack}>
          <ArrowLeft size={14} aria-hidden /> Back to editing
        </Button>
      </div>
      {preview.isPending && <Checking checked={checked} total={batches.length} />}
      {preview.error && <ErrorNotice error={preview.error} onRetry={() => void preview.refetch()} />}
      {sums && (
        <>
          <PreviewIssues sums={sums} batches={batches} />
          <ReviewTotals projectId={projectId} sums={sums} token={token} />
        </>
      )}
      <Panel
        title={batches.length === 1 ? 'The batch' : `${batches.length} batches`}
        aside={<span className="tabular text-sm text-quiet">{pluralize(pipelines.length, 'pipeline')}</span>}
      >
        <PipelineList pipelines={pipelines} />
      </Panel>
      {create.error && <ErrorNotice error={create.error} onRetry={createBatches} />}
      <Footer>
        <Button tone="primary" disabled={!sums || sums.isBlocked} isBusy={create.isPending} onClick={createBatches}>
          {batches.length === 1 ? 'Create the batch' : `Create ${batches.length} batches`}
        </Button>
        <p className="text-sm text-quiet">Nothing moves yet. Next, you verify the batch on chain and sign it.</p>
      </Footer>
    </div>
  );
}

function Checking({ checked, total }: { readonly checked: number; readonly total: number }) {
  return (
    <div role="status" className="flex min-h-28 items-center gap-3 rounded-lg border bg-raised p-4">
      <Ring size={24} progress={0.7} isSpinning className="text-accent" />
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

/** Finds the line of the CSV file that an action came from; the payload of its pipeline lists the lines. Null if unknown. */
function lineOf(pipelines: readonly Pipeline[], path: string): number | null {
  const [, pipeline, action] = /^pipelines\[(\d+)\]\.actions\[(\d+)\]/.exec(path) ?? [];
  const found = pipelines[Number(pipeline)];
  if (!found || action === undefined) return null;
  const payload: unknown = JSON.parse(found.payload);
  const isFromFile = typeof payload === 'object' && payload !== null && 'sha256' in payload && 'lines' in payload;
  if (!isFromFile || !Array.isArray(payload.lines) || payload.lines.length !== found.actions.length) return null;
  const line: unknown = payload.lines[Number(action)];
  return typeof line === 'number' ? line : null;
}

interface PreviewInput {
  readonly projectId: string;
  readonly batches: readonly PlannedBatch[];
  readonly onProgress?: (checked: number) => void;
}

/** The service compiles and simulates every pipeline. */
const PREVIEW_TIMEOUT_MS = 120_000;

/** Previews each batch, one after the other; the service stores nothing. @throws FlywheelError */
async function previewBatches({ projectId, batches, onProgress }: PreviewInput): Promise<PreviewBatchResponse[]> {
  const previews: PreviewBatchResponse[] = [];
  for (const { pipelines } of batches) {
    const body = { pipelines: [...pipelines] };
    previews.push(
      await call(
        BATCH_OPERATIONS.previewProjectBatch,
        { params: { projectId }, body },
        { timeoutMs: PREVIEW_TIMEOUT_MS },
      ),
    );
    onProgress?.(previews.length);
  }
  return previews;
}

/** The service compiles up to a thousand pipelines before it answers. */
const INIT_TIMEOUT_MS = 120_000;

type CreateRequest = Pick<ReviewProps, 'projectId' | 'batches' | 'onSend'>;

/**
 * Creates the batches one after the other. After an error the next attempt continues where it stopped; each batch has
 * its own idempotency key, so a batch whose response was lost is not created twice.
 */
function useCreateBatches({ projectId, batches, onSend }: CreateRequest) {
  const queries = useQueryClient();
  const [created, setCreated] = useState<readonly string[]>([]);
  const create = useMutation({
    mutationFn: async () => {
      const ids = [...created];
      for (const planned of batches.slice(created.length)) {
        const { pipelines, idempotencyKey } = planned;
        onSend(planned);
        const { batch } = await call(
          BATCH_OPERATIONS.initProjectBatch,
          {
            params: { projectId },
            headers: { 'x-idempotency-key': idempotencyKey },
            body: { pipelines: [...pipelines] },
          },
          { timeoutMs: INIT_TIMEOUT_MS, repeatable: true },
        );
        ids.push(batch.id);
        setCreated([...ids]);
      }
      return ids;
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['batches', projectId] }),
  });
  return { create, created };
}

interface CreatedBatchesProps {
  readonly projectId: string;
  readonly batchIds: readonly string[];
  readonly expected: number;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly onRetry: () => void;
}

/** Lists the created batches of one file; each needs its own approval. */
function CreatedBatches({ projectId, batchIds, expected, error, isBusy, onRetry }: CreatedBatchesProps) {
  return (
    <div className="flex flex-col gap-6">
      <div role="status" className="flex items-center gap-4">
        <Ring size={40} progress={batchIds.length / expected} isSpinning={isBusy} className="text-accent" />
        <div>
          <p className="text-lg font-semibold">
            {batchIds.length} of {expected} batches created
          </p>
          <p className="text-quiet">A batch holds at most 1,000 pipelines. Approve each batch.</p>
        </div>
      </div>
      {error && <ErrorNotice error={error} onRetry={onRetry} />}
      <Panel title="To approve">
        <ul className="flex flex-col divide-y">
          {batchIds.map((batchId, position) => (
            <li key={batchId} className="flex min-h-12 items-center justify-between gap-4 py-2">
              <span>
                Part {position + 1} of {expected} <AddressText address={batchId} of="batch id" />
              </span>
              <ButtonLink
                to="/p/$projectId/approve/$batchId"
                params={{ projectId, batchId }}
                target="_blank"
                size="small"
              >
                Review and approve
              </ButtonLink>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

/** A longer list is cut: the first entries show what to fix. */
const MAX_SHOWN = 20;

interface PreviewIssuesProps {
  readonly sums: PreviewTotals;
  readonly batches: readonly PlannedBatch[];
}

/** Lists the issues and warnings of the previews. */
function PreviewIssues({ sums: { problems, rules, warnings, isBlocked }, batches }: PreviewIssuesProps) {
  // The list below numbers the pipelines of all batches, a message those of its own.
  const positionOf = (batch: number, pipeline: number) =>
    batches.slice(0, batch).reduce((sum, { pipelines }) => sum + pipelines.length, pipeline);
  return (
    <>
      {problems.length > 0 && (
        <Notice
          tone={isBlocked ? 'failed' : 'waiting'}
          title={
            isBlocked
              ? `Fix ${pluralize(problems.length, 'issue')} first`
              : 'You can create this now. Resolve the following before you execute it.'
          }
        >
          <ul className="mt-1 flex flex-col gap-1">
            {problems.slice(0, MAX_SHOWN).map(({ batch, code, place, message }) => {
              const line = place === undefined ? null : lineOf(batches[batch]?.pipelines ?? [], place);
              return (
                <li key={`${batch} ${place} ${code} ${message}`} className="break-words">
                  {batches.length > 1 && (
                    <span className="font-medium">
                      Batch {batch + 1} of {batches.length}.{' '}
                    </span>
                  )}
                  {line !== null && <span className="font-medium">Line {line}. </span>}
                  <MessageText text={message} /> <span className="font-mono text-xs text-quiet">{code}</span>
                </li>
              );
            })}
            <MoreItems count={problems.length - MAX_SHOWN} />
          </ul>
        </Notice>
      )}
      {rules.length > 0 && (
        <Notice tone="waiting" title="The company’s rules will hold it up">
          <ul className="mt-1 flex flex-col gap-1">
            {rules.slice(0, MAX_SHOWN).map((rule) => (
              <li key={rule} className="break-words">
                {rule}
              </li>
            ))}
            <MoreItems count={rules.length - MAX_SHOWN} />
          </ul>
        </Notice>
      )}
      {warnings.length > 0 && (
        <Notice tone="waiting" title={pluralize(warnings.length, 'warning')}>
          <ul className="mt-1 flex flex-col gap-1">
            {warnings.slice(0, MAX_SHOWN).map(({ batch, pipeline, message }) => (
              <li key={`${batch} ${pipeline} ${message}`} className="break-words">
                Pipeline {positionOf(batch, pipeline)}: {message}
              </li>
            ))}
            <MoreItems count={warnings.length - MAX_SHOWN} />
          </ul>
        </Notice>
      )}
    </>
  );
}
