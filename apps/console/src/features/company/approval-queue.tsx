import type { WaitingBatch } from '@flywheel/api';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { approveBatch, rejectBatch, waitingBatchesQuery } from '../../lib/api/company.ts';
import { pluralize } from '../../lib/format.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState, ErrorNotice, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { AddressText, AmountText, TimeText } from '../../ui/text.tsx';
import { batchKindName } from '../batch/batch-summary.ts';

/** The batches that a person of the company decides on, oldest first. */
export function ApprovalQueue() {
  const waiting = useQuery(waitingBatchesQuery);
  const [given, setGiven] = useState<Decision | null>(null);
  return (
    <div className="flex flex-col gap-4">
      {given && <DecisionNotice given={given} />}
      <QueryView query={waiting} skeleton={<SkeletonLines count={2} className="h-40" />}>
        {({ batches }) =>
          batches.length === 0 ? (
            <EmptyQueue />
          ) : (
            <ul className="flex flex-col gap-4">
              {batches.map((batch) => (
                <li key={batch.id}>
                  <QueuedBatch batch={batch} onGiven={setGiven} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </div>
  );
}

function DecisionNotice({ given: { isApproved, projectId, batchId, batchIndex } }: { readonly given: Decision }) {
  return (
    <Notice
      tone={isApproved ? 'done' : 'plain'}
      title={isApproved ? `Batch ${batchIndex} is approved` : `Batch ${batchIndex} is rejected`}
      action={
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
          See it
        </ButtonLink>
      }
    >
      {isApproved ? 'It is being executed now.' : 'It has ended, and the project reads why.'}
    </Notice>
  );
}

function EmptyQueue() {
  return (
    <EmptyState title="Nothing waits for the company">
      <p>
        Batches of projects that a person approves appear here once their wallet has signed, withdrawals and changes of
        members always. Other batches are approved by themselves when every rule has passed.
      </p>
    </EmptyState>
  );
}

/** Why a person is always asked of these. */
const WARNINGS = {
  withdrawal:
    'It takes money out of the vault, past every daily limit. Look where to, and ask the project by another way.',
  rotation: 'It changes who decides over the vault. Look who goes and who comes, and ask the project by another way.',
};

interface QueuedBatchProps {
  readonly batch: WaitingBatch;
  readonly onGiven: (given: Decision) => void;
}

function QueuedBatch({ batch, onGiven }: QueuedBatchProps) {
  const { id: batchId, projectId, batchIndex, mintAddress, actions, problem } = batch;
  const facts = [
    { name: 'Burns', value: <AmountText amount={batch.burned} />, note: pluralize(actions.burn, 'action') },
    { name: 'Airdrops', value: <AmountText amount={batch.airdropped} />, note: pluralize(actions.airdrop, 'action') },
    { name: 'Pipelines', value: batch.pipelines, note: batch.types.join(', ') },
    {
      name: 'Token',
      value: <AddressText address={mintAddress} of="mint" isLinked />,
      note: pluralize(actions.memo, 'memo'),
    },
  ];
  return (
    <article className="rounded-lg border bg-raised">
      <header className="flex flex-wrap items-baseline justify-between gap-x-4 border-b px-4 py-3">
        <h2 className="font-semibold">
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="underline-offset-2 hover:underline"
          >
            {batchKindName(batch.kind)} {batchIndex}
          </Link>
        </h2>
        <span className="text-sm text-quiet">
          signed by the wallet <TimeText at={batch.requestedAt} />
        </span>
      </header>
      <dl className="grid grid-cols-2 gap-4 p-4 md:grid-cols-4">
        {facts.map(({ name, value, note }) => (
          <div key={name} className="min-w-0">
            <dt className="text-sm text-quiet">{name}</dt>
            <dd className="text-lg font-semibold">{value}</dd>
            <dd className="truncate text-sm text-quiet">{note}</dd>
          </div>
        ))}
      </dl>
      {batch.kind !== undefined && batch.kind !== 'pipelines' && (
        <div className="px-4 pb-4">
          <Notice tone="waiting" title={WARNINGS[batch.kind]} />
        </div>
      )}
      {problem !== undefined && (
        <div className="px-4 pb-4">
          <Notice tone="waiting" title={problem} />
        </div>
      )}
      <DecisionBar projectId={projectId} batchId={batchId} batchIndex={batchIndex} onGiven={onGiven} />
    </article>
  );
}

interface DecidedBatch {
  readonly projectId: string;
  readonly batchId: string;
  readonly batchIndex: string;
}

/** A verdict that the service has taken. */
interface Decision extends DecidedBatch {
  readonly isApproved: boolean;
}

interface DecisionBarProps extends DecidedBatch {
  readonly onGiven: (given: Decision) => void;
}

/** The company’s word on a batch: approve, reject with a reason, or look closer first. */
function DecisionBar({ onGiven, ...batch }: DecisionBarProps) {
  const { projectId, batchId, batchIndex } = batch;
  const queries = useQueryClient();
  const [isRejecting, setRejecting] = useState(false);
  const approve = useMutation({
    mutationFn: () => approveBatch(batchId),
    onSuccess: () => {
      onGiven({ ...batch, isApproved: true });
      return queries.invalidateQueries();
    },
  });
  return (
    <footer className="flex flex-col gap-3 border-t px-4 py-3">
      {approve.error && <ErrorNotice error={approve.error} />}
      <div className="flex flex-wrap gap-2">
        <Button tone="primary" isBusy={approve.isPending} onClick={() => approve.mutate()}>
          Approve batch {batchIndex}
        </Button>
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }}>
          See every pipeline
        </ButtonLink>
        <Button tone="danger" className="ml-auto" onClick={() => setRejecting(true)}>
          Reject
        </Button>
      </div>
      <Dialog title={`Reject batch ${batchIndex}?`} isOpen={isRejecting} onClose={() => setRejecting(false)}>
        <RejectForm
          batchId={batchId}
          onRejected={() => onGiven({ ...batch, isApproved: false })}
          onClose={() => setRejecting(false)}
        />
      </Dialog>
    </footer>
  );
}

interface RejectFormProps {
  readonly batchId: string;
  readonly onRejected: () => void;
  readonly onClose: () => void;
}

function RejectForm({ batchId, onRejected, onClose }: RejectFormProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const reject = useMutation({
    mutationFn: () => rejectBatch(batchId, reason.trim()),
    onSuccess: async () => {
      onRejected();
      onClose();
      await queries.invalidateQueries();
    },
  });
  const isGiven = reason.trim() !== '';
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isGiven) reject.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>The batch ends as failed, for good. Nothing of it moves, and its limits are given back.</p>
      <TextField
        label="Why? The project reads it"
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
        required
      />
      {reject.error && <ErrorNotice error={reject.error} />}
      <div className="flex gap-3">
        <Button type="submit" tone="danger" isBusy={reject.isPending} disabled={!isGiven}>
          Reject the batch
        </Button>
        <Button onClick={onClose}>Keep it waiting</Button>
      </div>
    </form>
  );
}
