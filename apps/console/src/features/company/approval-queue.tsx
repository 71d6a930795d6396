import type { CompanyVerdict, WaitingBatch } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { approveBatch, rejectBatch, waitingBatchesQuery } from '../../lib/api/company.ts';
import { tokenName, tokenUnit } from '../../lib/format.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { focusIfLost, useHeadingFocus } from '../../ui/focus-heading.ts';
import { AddressText, AmountText, TimeText } from '../../ui/text.tsx';
import { batchKindName, hasPipelines } from '../batch/batch-summary.ts';
import { BatchReview } from './batch-review.tsx';
import { DecisionForm } from './decision.tsx';
import { MissingInList } from './missing-shards.tsx';
import { ProposalFacts, toSubject, useProposal } from './proposal.tsx';

/** Lists the batches that wait for an operator’s approval, oldest first. */
export function ApprovalQueue() {
  const waiting = useQuery(waitingBatchesQuery);
  const [decision, setDecision] = useState<Decision | null>(null);
  const isListed = waiting.data?.batches.some(({ id }) => id === decision?.batchId) ?? true;
  useHeadingFocus(decision === null || isListed ? '' : decision.batchId, `#${DECISION_ID}`, focusIfLost);
  return (
    <div className="flex flex-col gap-4">
      {decision && <DecisionNotice decision={decision} />}
      <QueryView query={waiting} skeleton={<SkeletonLines count={2} className="h-40" />}>
        {({ batches, missing }) => (
          <div className="flex flex-col gap-4">
            <MissingInList failures={missing} />
            {batches.length === 0 && missing.length === 0 && <EmptyQueue />}
            <ul className="flex flex-col gap-4 empty:hidden">
              {batches.map((batch) => (
                <li key={batch.id}>
                  <QueuedBatch batch={batch} onDecision={setDecision} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </QueryView>
    </div>
  );
}

/** It takes the focus when the decided batch leaves the list, and the button in it. */
const DECISION_ID = 'decision';

function DecisionNotice({ decision }: { readonly decision: Decision }) {
  const { isApproved, isPartial, projectId, batchId, name } = decision;
  return (
    // In view below the header, wherever in the list the decided batch stood.
    <div id={DECISION_ID} className="sticky top-16 z-10">
      <Notice
        tone={isApproved ? 'done' : 'plain'}
        title={isApproved ? `${name} approved` : `${name} rejected`}
        action={
          <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
            View batch
          </ButtonLink>
        }
      >
        {outcomeOf({ isApproved, isPartial })}
      </Notice>
    </div>
  );
}

function outcomeOf({ isApproved, isPartial }: Pick<Decision, 'isApproved' | 'isPartial'>): string {
  if (isPartial) return 'It waits for another operator.';
  return isApproved ? 'It will be executed.' : 'It has failed, and the project can read the reason.';
}

function EmptyQueue() {
  return (
    <EmptyState title="No batches waiting for the company">
      <p>
        Batches of projects with manual approval appear here after the project’s wallet has signed. So do batches above
        the daily amounts of a project, batches that a rule of the project holds, all withdrawals, and all replacements
        of an approver. All other batches are approved automatically.
      </p>
    </EmptyState>
  );
}

/** These batches always need an operator’s approval. */
const WARNINGS = {
  withdrawal:
    'This batch moves funds out of the vault; daily limits do not apply. Approve shows the amount and the recipient, read from the chain: confirm both with the project through another channel.',
  rotation:
    'This batch changes who approves spending from the vault. Check both addresses, and confirm with the project through another channel.',
};

interface QueuedBatchProps {
  readonly batch: WaitingBatch;
  readonly onDecision: (given: Decision) => void;
}

function QueuedBatch({ batch, onDecision }: QueuedBatchProps) {
  const { id: batchId, projectId, mintAddress, actions, problem } = batch;
  const memos = actions.memo === 0 ? [] : [pluralize(actions.memo, 'memo')];
  const token = { name: 'Token', value: <AddressText address={mintAddress} of="mint" isLinked />, note: '' };
  const amounts = [
    {
      name: 'To burn',
      value: <AmountText amount={batch.burned} unit={tokenUnit(batch)} />,
      note: pluralize(actions.burn, 'burn'),
    },
    {
      name: 'To airdrop',
      value: <AmountText amount={batch.airdropped} unit={tokenUnit(batch)} />,
      note: pluralize(actions.airdrop, 'airdrop'),
    },
    { name: 'Pipelines', value: batch.pipelines.toLocaleString('en'), note: [...batch.types, ...memos].join(', ') },
  ];
  const facts = [...(hasPipelines(batch) ? amounts : []), token];
  return (
    <article className="rounded-lg border bg-raised">
      <header className="flex flex-wrap items-baseline justify-between gap-x-4 border-b px-4 py-3">
        <h2 className="min-w-0 font-semibold wrap-anywhere">
          <Link to="/p/$projectId" params={{ projectId }} className="underline-offset-2 hover:underline">
            {projectNameOf(batch)}
          </Link>
          <span className="font-normal text-quiet"> · </span>
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="underline-offset-2 hover:underline"
          >
            {nameOf(batch)}
          </Link>
        </h2>
        <span className="text-sm text-quiet">
          Signed by the wallet <TimeText at={batch.requestedAt} />
        </span>
      </header>
      <dl className="grid gap-4 p-4 md:grid-cols-4">
        {facts.map(({ name, value, note }) => (
          <div
            key={name}
            className="min-w-0 max-md:grid max-md:grid-cols-[auto_1fr] max-md:items-baseline max-md:gap-x-4"
          >
            <dt className="text-sm text-quiet max-md:row-span-2">{name}</dt>
            <dd className="min-w-0 text-lg font-semibold wrap-anywhere max-md:text-right">{value}</dd>
            <dd className="min-w-0 text-sm text-quiet wrap-anywhere max-md:text-right">{note}</dd>
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
      <div className="px-4 pb-4 empty:hidden">
        <BatchReview batchId={batchId} showsEffects={!hasPipelines(batch)} />
      </div>
      <DecisionBar batch={batch} onDecision={onDecision} />
    </article>
  );
}

/** Names a project as the list of projects does, from which the company admitted it. */
function projectNameOf({ mintAddress: mint, symbol }: WaitingBatch): string {
  return tokenName({ mint, symbol });
}

/** Names a batch as its own screen does, for example `Withdrawal 3`. */
function nameOf({ kind, batchIndex }: WaitingBatch): string {
  return `${batchKindName(kind)} ${batchIndex}`;
}

/** A decision that the service has accepted. */
interface Decision {
  readonly projectId: string;
  readonly batchId: string;
  /** For example `Withdrawal 3`. */
  readonly name: string;
  readonly isApproved: boolean;
  /** True if another operator must approve too. */
  readonly isPartial: boolean;
}

/** Buttons to approve a batch, to view it, or to reject it with a reason. */
function DecisionBar({ batch, onDecision }: QueuedBatchProps) {
  const { projectId, id: batchId } = batch;
  const name = nameOf(batch);
  const [open, setOpen] = useState<'approve' | 'reject' | null>(null);
  const close = () => setOpen(null);
  const decided = (isApproved: boolean, { approvals }: CompanyVerdict) => {
    close();
    onDecision({ projectId, batchId, name, isApproved, isPartial: approvals !== undefined });
  };
  return (
    <footer className="flex flex-col gap-3 border-t px-4 py-3">
      {/* A phone has room for two: the decision that is asked for stands above them. */}
      <div className="grid grid-cols-2 gap-2 sm:flex">
        <Button tone="primary" className="max-sm:col-span-2" onClick={() => setOpen('approve')}>
          Approve {name.toLowerCase()}
        </Button>
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }}>
          View pipelines
        </ButtonLink>
        <Button tone="danger" className="sm:ml-auto" onClick={() => setOpen('reject')}>
          Reject
        </Button>
      </div>
      <Dialog
        title={`Approve ${name.toLowerCase()} of ${projectNameOf(batch)}?`}
        isOpen={open === 'approve'}
        onClose={close}
      >
        <ApproveForm batch={batch} onDecided={(verdict) => decided(true, verdict)} onClose={close} />
      </Dialog>
      <Dialog
        title={`Reject ${name.toLowerCase()} of ${projectNameOf(batch)}?`}
        isOpen={open === 'reject'}
        onClose={close}
      >
        <RejectForm batch={batch} onDecided={(verdict) => decided(false, verdict)} onClose={close} />
      </Dialog>
    </footer>
  );
}

interface VerdictFormProps {
  readonly batch: WaitingBatch;
  readonly onDecided: (verdict: CompanyVerdict) => void;
  readonly onClose: () => void;
}

function ApproveForm({ batch, ...rest }: VerdictFormProps) {
  const proposal = useProposal(batch);
  const { data } = proposal;
  return (
    <DecisionForm
      subject={data === undefined || data.issues.length > 0 ? null : toSubject(data, null)}
      verb="Sign and approve"
      send={(signature) => approveBatch(batch.id, signature)}
      {...rest}
    >
      <ProposalFacts proposal={proposal} />
    </DecisionForm>
  );
}

function RejectForm({ batch, ...rest }: VerdictFormProps) {
  const proposal = useProposal(batch);
  const [typed, setReason] = useState('');
  const reason = typed.trim();
  const { data } = proposal;
  return (
    <DecisionForm
      subject={data === undefined || reason === '' ? null : toSubject(data, reason)}
      verb={`Reject the ${batchKindName(batch.kind).toLowerCase()}`}
      tone="danger"
      send={(signature) => rejectBatch(batch.id, reason, signature)}
      {...rest}
    >
      <p>It fails without executing anything, and the daily limits it reserved are released. You cannot undo this.</p>
      <TextField
        label="Reason (shown to the project)"
        value={typed}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
        required
      />
      <ProposalFacts proposal={proposal} />
    </DecisionForm>
  );
}
