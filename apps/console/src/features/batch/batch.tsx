import { type BatchDetail, type BatchProgress, isFinalStatus, type TimelineStep } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { progressQuery } from '../../lib/api/batches.ts';
import { explorerLink, useEnvironment } from '../../lib/api/environment.ts';
import { useLiveBatch } from '../../lib/api/live-batch.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { loadCode } from '../../lib/load-code.ts';
import { saveFile } from '../../lib/save-file.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNotice, Notice, QueryView } from '../../ui/feedback.tsx';
import { focusIfLost, useHeadingFocus } from '../../ui/focus-heading.ts';
import { LoadMore, Page, Panel } from '../../ui/layout.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { type TimelineStep as ShownStep, Timeline } from '../../ui/timeline.tsx';
import { BatchNotFound, isNotFound } from './batch-not-found.tsx';
import { LedgerPanel, ResultsPanel } from './batch-results.tsx';
import { BatchSkeleton, BatchStatusCard, FailureNotice } from './batch-status.tsx';
import { batchKindName } from './batch-summary.ts';
import { type CancelAnswer, CancelVoteNotice, cancelBatch, mayOweCancelVote } from './cancel-vote.tsx';
import { PipelineList } from './pipeline-list.tsx';

/** The screen of one batch, updated live. */
export function BatchScreen() {
  const { projectId, batchId } = useParams({ from: '/p/$projectId/batches/$batchId' });
  const batch = useLiveBatch(projectId, batchId);
  if (isNotFound(batch.error)) return <BatchNotFound projectId={projectId} />;
  return (
    <QueryView query={batch} skeleton={<BatchSkeleton />} errorTitle="Batch">
      {(found) => <BatchDetails projectId={projectId} batch={found} />}
    </QueryView>
  );
}

function BatchDetails({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const { id, batchIndex, status, dateCreated, ledger } = batch.batch;
  const [owesVote, setOwesVote] = useState(false);
  const [isCancelled, setCancelled] = useState(false);
  useHeadingFocus(isCancelled || isFinalStatus(status) ? 'end' : 'open', 'main h1', focusIfLost);
  const isOwner = useOwnsProject(projectId);
  const canApprove = batch.waitsFor === 'wallet' && isOwner;
  const cancelled = (answer: CancelAnswer) => {
    setCancelled(true);
    // The chain may need the wallet’s cancel vote before the rent comes back.
    setOwesVote('cancelTx' in answer && answer.cancelTx !== undefined);
  };
  const approve = (
    <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId: id }} tone="primary">
      Review and approve
    </ButtonLink>
  );
  return (
    <Page
      title={`${batchKindName(batch.kind)} ${batchIndex}`}
      lead={
        <span className="flex flex-wrap items-center gap-x-3">
          <TimeText at={dateCreated} />
          <AddressText address={id} of="batch id" />
        </span>
      }
      action={
        <div className="flex flex-wrap gap-2">
          {!isCancelled && <CancelButton projectId={projectId} batch={batch} onCancelled={cancelled} />}
          {batch.executedPipelines > 0 && <ReceiptButton batch={batch} />}
        </div>
      }
    >
      <BatchStatusCard projectId={projectId} batch={batch} />
      {isCancelled && !isFinalStatus(status) && (
        <Notice tone="waiting" title="Cancellation under way">
          No more bundles are sent. As soon as the one in flight has landed or failed, this page shows how the{' '}
          {batchKindName(batch.kind).toLowerCase()} ended.
        </Notice>
      )}
      {batch.failure && <FailureNotice failure={batch.failure} />}
      {(owesVote || mayOweCancelVote(batch)) && (
        // The rent may be back before the answer to the vote, which is shown all the same.
        <CancelVoteNotice projectId={projectId} batch={batch} onVote={() => setOwesVote(true)} />
      )}
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[320px_minmax(0,1fr)] lg:items-start">
        <div className="lg:sticky lg:top-20">
          <Panel title="Timeline">
            <BatchTimeline
              progress={batch}
              isOwner={isOwner}
              approveAction={canApprove && <span className="hidden md:block">{approve}</span>}
            />
          </Panel>
        </div>
        <Panel title="Pipelines" aside={<PipelineCount batch={batch} />}>
          <PipelineList pipelines={batch.pipelines} />
        </Panel>
      </div>
      <ResultsPanel batch={batch.batch} />
      {ledger && <LedgerPanel ledger={ledger} awaitsCancelVote={mayOweCancelVote(batch)} />}
      {canApprove && (
        // In reach of a thumb on a phone.
        <div className="sticky bottom-0 -mx-4 -mb-6 flex border-t bg-paper p-4 *:flex-1 md:hidden print:hidden">
          {approve}
        </div>
      )}
    </Page>
  );
}

interface CancelButtonProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** Called with what the service has answered: the batch may not have ended yet. */
  readonly onCancelled: (answer: CancelAnswer) => void;
}

/** Cancels an open batch after its name is typed; hidden when the batch has ended or the wallet does not own the project. */
function CancelButton({ projectId, batch, onCancelled }: CancelButtonProps) {
  const queries = useQueryClient();
  const isOwner = useOwnsProject(projectId);
  const [isOpen, setOpen] = useState(false);
  const { id: batchId, status, batchIndex } = batch.batch;
  const kind = batchKindName(batch.kind);
  const name = `${kind} ${batchIndex}`;
  const cancel = async () => {
    const answer = await cancelBatch(projectId, batchId);
    await queries.invalidateQueries(progressQuery(projectId, batchId));
    onCancelled(answer);
  };
  if (isFinalStatus(status) || !isOwner) return null;
  return (
    <>
      <Button tone="danger" onClick={() => setOpen(true)}>
        Cancel
      </Button>
      <ConfirmDialog
        title={`Cancel ${name.toLowerCase()}?`}
        name={name}
        verb={`Cancel the ${kind.toLowerCase()}`}
        dismissLabel={`Keep the ${kind.toLowerCase()}`}
        pendingText="The cancellation is sent. If a bundle is in flight, this takes up to 20 seconds; then the batch’s page shows how it ended."
        isOpen={isOpen}
        onConfirm={cancel}
        onClose={() => setOpen(false)}
      >
        <p>
          The batch ends now, and the daily limits it reserved are released. Pipelines that have been executed stay
          executed; no others will be. You cannot undo this.
        </p>
        {batch.waitsFor === 'execution' && (
          <p className="mt-2">
            If its approval is on chain already, your wallet is asked for a cancel vote afterwards, so that the rent
            comes back.
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

/** Downloads a CSV of the airdrops and their transactions; hidden when the batch has no airdrop. */
function ReceiptButton({ batch: { batch, pipelines } }: { readonly batch: BatchDetail }) {
  const environment = useEnvironment();
  const download = useMutation({
    mutationFn: async () => {
      // The CSV writer is loaded when it is needed.
      const { writeReceipt } = await loadCode(() => import('./receipt.ts'));
      const text = writeReceipt({
        pipelines,
        linkOf: (signature) => explorerLink(environment, 'signature', signature),
      });
      saveFile(`airdrops-of-batch-${batch.batchIndex}.csv`, [text], 'text/csv');
    },
    retry: DOWNLOAD_RETRIES,
  });
  if (!pipelines.some(({ actions }) => actions.some(({ action }) => action === 'AIRDROP'))) return null;
  return (
    <>
      <Button isBusy={download.isPending} onClick={() => download.mutate()}>
        <Download size={15} aria-hidden /> Download receipt
      </Button>
      {download.error && <ErrorNotice error={download.error} />}
    </>
  );
}

/** A part of the page that the network lost is asked for again after 1 s and 2 s. */
const DOWNLOAD_RETRIES = 2;

interface BatchTimelineProps {
  readonly progress: BatchProgress;
  /** The person owns the project, so that the wallet’s approval is this person’s. */
  readonly isOwner: boolean;
  /** Shown at the step that waits for the wallet. */
  readonly approveAction?: ReactNode;
}

const STEP_NAMES = {
  compiled: 'Compiled',
  setUp: 'Set up on chain',
  walletApproval: 'Wallet approval',
  companyApproval: 'Company approval',
  executed: 'Executed',
  rentReturned: 'Rent returned',
} as const satisfies Record<TimelineStep['step'], string>;

/** Shows every step from compiled to rent returned, with times and transactions. */
function BatchTimeline({ progress, isOwner, approveAction }: BatchTimelineProps) {
  const { timeline, expiresAt } = progress;
  return (
    <Timeline
      steps={timeline.map(({ step, state, at, note, signatures }): ShownStep => {
        const waitsForWallet = step === 'walletApproval' && state === 'waiting';
        return {
          name: step === 'walletApproval' && isOwner ? 'Your approval' : STEP_NAMES[step],
          state: state === 'upcoming' ? 'coming' : state,
          at: at ?? null,
          text: (
            <>
              {note !== undefined && <MessageText text={note} />}
              {waitsForWallet && expiresAt !== undefined && (
                <p>
                  Valid until <TimeText at={expiresAt} />
                </p>
              )}
              <Signatures signatures={signatures} />
            </>
          ),
          action: waitsForWallet ? approveAction : null,
        };
      })}
    />
  );
}

/** A batch of a thousand pipelines has hundreds of signatures. */
const SIGNATURES_SHOWN = 3;

function Signatures({ signatures }: { readonly signatures: readonly string[] }) {
  if (signatures.length === 0) return null;
  const more = signatures.slice(SIGNATURES_SHOWN);
  return (
    <>
      <SignatureList signatures={signatures.slice(0, SIGNATURES_SHOWN)} />
      {more.length > 0 && (
        <LoadMore label={`Show ${more.length.toLocaleString('en')} more`}>
          {() => <SignatureList signatures={more} />}
        </LoadMore>
      )}
    </>
  );
}

function SignatureList({ signatures }: { readonly signatures: readonly string[] }) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-0.5 max-md:gap-y-5">
      {signatures.map((signature) => (
        <li key={signature}>
          <AddressText address={signature} kind="signature" isLinked />
        </li>
      ))}
    </ul>
  );
}

function PipelineCount({ batch: { pipelines } }: { readonly batch: BatchDetail }) {
  const actions = pipelines.reduce((sum, pipeline) => sum + pipeline.actions.length, 0);
  const instructions = pipelines.reduce((sum, pipeline) => sum + pipeline.instructions.length, 0);
  return (
    <span className="tabular text-sm text-quiet">
      {pluralize(pipelines.length, 'pipeline')}, {pluralize(actions, 'action')},{' '}
      {pluralize(instructions, 'instruction')}
    </span>
  );
}
