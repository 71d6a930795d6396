import { type BatchDetail, type BatchFailure, type BatchStatus, isFinalStatus } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { projectQuery, settingsQuery, useMayCreateBatch, useOwnsProject } from '../../lib/api/projects.ts';
import { amountWithUnit, tokenUnit } from '../../lib/format.ts';
import { initSample } from '../../lib/samples.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { STATUS_COLORS } from '../../ui/status.ts';
import { AmountText, MessageText } from '../../ui/text.tsx';
import {
  amountStage,
  costSoFar,
  deriveBatchState,
  hasPipelines,
  totalsOf,
  WITHDRAWAL_NAMES,
  withdrawnUnit,
} from './batch-summary.ts';

interface BatchStatusCardProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
}

/** Shows the state of a batch, its progress, its totals and its cost so far. */
export function BatchStatusCard({ projectId, batch }: BatchStatusCardProps) {
  const state = deriveBatchState(batch, useOwnsProject(projectId));
  const { data: project } = useQuery(projectQuery(projectId));
  return (
    <section
      aria-label="Batch status"
      className="grid gap-x-8 gap-y-4 rounded-lg border bg-raised p-4 sm:grid-cols-2 lg:grid-cols-[minmax(220px,1.3fr)_repeat(3,minmax(0,1fr))]"
    >
      <div role="status" className="flex items-center gap-4 sm:col-span-2 lg:col-span-1">
        <Ring
          size={52}
          progress={state.closed}
          isSpinning={state.state === 'running'}
          className={STATUS_COLORS[state.state]}
        />
        <div>
          <p className={cn('text-lg font-semibold', STATUS_COLORS[state.state])}>{state.word}</p>
          <p className="tabular text-sm text-quiet">{progressText(batch)}</p>
        </div>
      </div>
      <BatchTotals batch={batch} unit={project === undefined ? '' : tokenUnit(project.token)} />
      <OperatorCost ledger={batch.batch.ledger} />
    </section>
  );
}

/** Shows what the operator has paid for good; rent that comes back stands apart. */
function OperatorCost({ ledger }: Pick<BatchDetail['batch'], 'ledger'>) {
  if (ledger === undefined) return <Total name="Operator cost so far" value="Not known yet" />;
  if (ledger.isComplete) return <Total name="Operator cost" value={formatSol(ledger.operatorNetLamports)} />;
  const { paidLamports, lockedLamports } = costSoFar(ledger);
  const note = lockedLamports > 0n ? `and ${formatSol(lockedLamports)} of rent, which comes back` : '';
  return <Total name="Operator cost so far" value={formatSol(paidLamports)} note={note} />;
}

/** Shows what the batch will burn and airdrop and what it has, or withdraws; a rotation moves nothing. */
function BatchTotals({ batch, unit }: { readonly batch: BatchDetail; readonly unit: string }) {
  const { pipelines } = batch;
  const { status } = batch.batch;
  if (!hasPipelines(batch)) {
    const actions = pipelines.flatMap((pipeline) => pipeline.actions);
    return actions.map(
      (action) =>
        action.action === 'WITHDRAW' && (
          <Total
            key={action.asset}
            name={WITHDRAWAL_NAMES[status]}
            value={<AmountText amount={action.amount} unit={withdrawnUnit(action.asset, unit)} />}
          />
        ),
    );
  }
  const planned = totalsOf(pipelines);
  const done = totalsOf(pipelines.filter(({ state }) => state === 'executed'));
  const shared = { status, unit };
  return (
    <>
      <PlannedTotal
        {...shared}
        names={BURN_NAMES}
        planned={planned.burned}
        done={done.burned}
        count={pluralize(planned.counts.burns, 'burn')}
      />
      <PlannedTotal
        {...shared}
        names={AIRDROP_NAMES}
        planned={planned.airdropped}
        done={done.airdropped}
        count={pluralize(planned.counts.airdrops, 'airdrop')}
      />
    </>
  );
}

interface PlannedTotalProps {
  readonly status: BatchStatus;
  readonly names: { readonly planned: string; readonly done: string };
  /** Whole tokens, decimal. */
  readonly planned: string;
  readonly done: string;
  /** For example `3 burns`. */
  readonly count: string;
  readonly unit: string;
}

/** Shows what is planned while a batch is open, and what was done once it has ended, beside what was requested. */
function PlannedTotal({ status, names, planned, done, count, unit }: PlannedTotalProps) {
  const stage = amountStage(status);
  if (stage === 'planned') {
    const note = done === '0' ? count : `${amountWithUnit(done, unit)} of it done`;
    return <Total name={names.planned} value={<AmountText amount={planned} unit={unit} />} note={note} />;
  }
  const note = stage === null ? count : `of ${amountWithUnit(planned, unit)} requested`;
  return <Total name={names.done} value={<AmountText amount={done} unit={unit} />} note={note} />;
}

const BURN_NAMES = { planned: 'To burn', done: 'Burned' } as const;
const AIRDROP_NAMES = { planned: 'To airdrop', done: 'Airdropped' } as const;

function progressText({ executedPipelines, pipelines, waitsFor, batch }: BatchDetail): string {
  const all = pluralize(pipelines.length, 'pipeline');
  const hasBegun = waitsFor === 'execution' || isFinalStatus(batch.status);
  return hasBegun ? `${executedPipelines.toLocaleString('en')} of ${all} executed` : all;
}

interface TotalProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: string;
}

function Total({ name, value, note }: TotalProps) {
  return (
    <div className="flex items-baseline justify-between gap-3 sm:flex-col sm:justify-start sm:gap-0">
      <p className="text-sm text-quiet">{name}</p>
      <div className="max-w-3/4 shrink-0 text-right sm:max-w-full sm:text-left">
        <p className="tabular text-lg font-medium wrap-anywhere">{value}</p>
        {note && <p className="tabular text-sm text-quiet">{note}</p>}
      </div>
    </div>
  );
}

/** Says what blocks or ended a batch, and what to do about it. */
export function FailureNotice({ failure }: { readonly failure: BatchFailure }) {
  const { message, chainError, remedy, code, isFinal } = failure;
  return (
    <Notice tone={isFinal ? 'failed' : 'waiting'} title={message}>
      <p>
        <MessageText text={remedy} />
      </p>
      {(code !== undefined || chainError !== undefined) && (
        <p className="mt-1 font-mono text-xs">{[code, chainError].filter(Boolean).join(' · ')}</p>
      )}
    </Notice>
  );
}

/** Placeholder of the same size while a batch loads. */
export function BatchSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <div className="skeleton h-12 w-64" />
      <div className="skeleton h-44 sm:h-36 lg:h-[86px]" />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[320px_minmax(0,1fr)] lg:items-start">
        <Panel title="Timeline">
          <SkeletonLines count={6} />
        </Panel>
        <Panel title="Pipelines">
          <SkeletonLines count={5} className="h-20" />
        </Panel>
      </div>
    </div>
  );
}

/** Says that a project has no batches yet, and how to create the first one. */
export function NoBatches({ projectId }: { readonly projectId: string }) {
  const mayCreate = useMayCreateBatch(projectId);
  const { data: settings } = useQuery(settingsQuery(projectId));
  if (!mayCreate) {
    return (
      <EmptyState title="No batches yet">
        <p>A batch groups burns, airdrops and memos into transactions. The project has created none.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No batches yet">
      <p>
        A batch groups burns, airdrops and memos into transactions. They run after you and the company have approved the
        batch. Create the first one with the API:
      </p>
      <div className="w-full text-left">
        <CodeBlock label="Create a batch with an API key" code={`KEY=fwk_…\n${initSample(settings)}`} />
      </div>
      <ButtonLink to="/p/$projectId/new" params={{ projectId }}>
        Compose a batch here
      </ButtonLink>
    </EmptyState>
  );
}
