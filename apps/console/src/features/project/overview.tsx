import type { Attention, ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { CircleAlert, Clock, type LucideIcon, Plus } from 'lucide-react';
import { projectQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { tokenName, tokenUnit } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { RecentBatches } from './recent-batches.tsx';
import { TodayStats } from './today-stats.tsx';
import { UsagePanel } from './usage-panel.tsx';

/** A project at a glance: what its vault holds, what today has used, what waits for whom. */
export function Overview() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  return (
    <QueryView query={project} skeleton={<OverviewSkeleton />}>
      {(found) => <Glance project={found} />}
    </QueryView>
  );
}

function Glance({ project }: { readonly project: ProjectOverview }) {
  const { id: projectId, token } = project;
  const mayChange = useOwnsProject(projectId);
  // That the company has paused the project stands above every screen of it.
  const attention = project.attention.filter(({ kind }) => kind !== 'PAUSED');
  const isAsked = attention[0]?.kind === 'APPROVE';
  return (
    <Page
      title={tokenName(token)}
      lead={
        <span className="flex flex-wrap items-center gap-x-4">
          <span>
            mint <AddressText address={token.mint} of="mint" isLinked />
          </span>
          <span>
            vault <AddressText address={project.vaultAddress} of="vault" isLinked />
          </span>
        </span>
      }
      action={
        mayChange && (
          <ButtonLink to="/p/$projectId/new" params={{ projectId }} tone={isAsked ? 'plain' : 'primary'}>
            <Plus size={16} aria-hidden /> New batch
          </ButtonLink>
        )
      }
    >
      <TodayStats project={project} />
      <AttentionList projectId={projectId} attention={attention} mayChange={mayChange} />
      <div className="grid gap-6 lg:grid-cols-[1fr_320px] lg:items-start">
        <UsagePanel projectId={projectId} token={token} />
        <ProjectFacts project={project} isOwn={mayChange} />
      </div>
      <RecentBatches projectId={projectId} unit={tokenUnit(token)} />
    </Page>
  );
}

function OverviewSkeleton() {
  return (
    <div aria-hidden className="flex flex-col gap-6">
      <div className="skeleton h-13 w-72" />
      <div className="grid grid-cols-1 gap-px min-[440px]:grid-cols-2 lg:grid-cols-4">
        <SkeletonLines count={1} className="h-28" />
        <SkeletonLines count={1} className="h-28" />
        <SkeletonLines count={1} className="h-28" />
        <SkeletonLines count={1} className="h-28" />
      </div>
      <Panel title="Needs attention">
        <SkeletonLines count={1} className="h-10" />
      </Panel>
      <div className="grid gap-6 lg:grid-cols-[1fr_320px]">
        <SkeletonLines count={1} className="h-80" />
        <SkeletonLines count={1} className="h-80" />
      </div>
    </div>
  );
}

interface AttentionListProps {
  readonly projectId: string;
  readonly attention: readonly Attention[];
  /** The project’s own wallet looks on; others only read. */
  readonly mayChange: boolean;
}

/** What a person should look at, most urgent first, each with the way there. */
function AttentionList({ projectId, attention, mayChange }: AttentionListProps) {
  return (
    <Panel
      title="Needs attention"
      aside={attention.length === 0 && <StatusBadge status="done" label="Nothing" />}
      isFlush
    >
      {attention.length > 0 && (
        <ul className="divide-y">
          {attention.map((item, place) => {
            const { Icon, className } = MARKS[item.kind];
            return (
              <li
                key={`${item.kind} ${item.batchId ?? item.keyId ?? ''} ${item.message}`}
                className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5"
              >
                <Icon size={17} aria-hidden className={cn('shrink-0', className)} />
                <p className="min-w-0 flex-1 basis-60 break-words">
                  <MessageText text={item.message} />
                </p>
                <AttentionLink projectId={projectId} item={item} isFirst={place === 0} mayChange={mayChange} />
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

const WAITS = { Icon: Clock, className: 'text-waiting' };
const WRONG = { Icon: CircleAlert, className: 'text-failed' };

const MARKS: { readonly [Kind in Attention['kind']]: { readonly Icon: LucideIcon; readonly className: string } } = {
  APPROVE: WAITS,
  COMPANY: WAITS,
  TROUBLE: WRONG,
  UNDERFUNDED: WRONG,
  PAUSED: WRONG,
  LIMIT: WAITS,
  KEY_EXPIRES: WAITS,
  CLUSTER: WRONG,
};

interface AttentionLinkProps {
  readonly projectId: string;
  readonly item: Attention;
  /** The most urgent of all. */
  readonly isFirst: boolean;
  readonly mayChange: boolean;
}

function AttentionLink({ projectId, item, isFirst, mayChange }: AttentionLinkProps) {
  const { kind, batchId } = item;
  switch (kind) {
    case 'APPROVE':
      if (!mayChange) return <BatchLink projectId={projectId} batchId={batchId} />;
      return batchId === undefined ? null : (
        <ButtonLink
          to="/p/$projectId/approve/$batchId"
          params={{ projectId, batchId }}
          size="small"
          tone={isFirst ? 'primary' : 'plain'}
        >
          Review and approve
        </ButtonLink>
      );
    case 'COMPANY':
    case 'TROUBLE':
      return <BatchLink projectId={projectId} batchId={batchId} />;
    case 'UNDERFUNDED':
      return (
        <ButtonLink to="/p/$projectId/vault" params={{ projectId }} size="small">
          Deposit
        </ButtonLink>
      );
    case 'LIMIT':
      return (
        <ButtonLink to="/p/$projectId/settings" params={{ projectId }} size="small">
          See the limits
        </ButtonLink>
      );
    case 'KEY_EXPIRES':
      return (
        <ButtonLink to="/p/$projectId/keys" params={{ projectId }} size="small">
          See the keys
        </ButtonLink>
      );
    case 'PAUSED':
    case 'CLUSTER':
      return null;
    default:
      return kind satisfies never;
  }
}

interface BatchLinkProps {
  readonly projectId: string;
  readonly batchId: string | undefined;
}

function BatchLink({ projectId, batchId }: BatchLinkProps) {
  if (batchId === undefined) return null;
  return (
    <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
      See the batch
    </ButtonLink>
  );
}

interface ProjectFactsProps {
  readonly project: ProjectOverview;
  /** Of the wallet that is signed in. */
  readonly isOwn: boolean;
}

/** Who approves, and the addresses that anyone can look up. */
function ProjectFacts({ project, isOwn }: ProjectFactsProps) {
  const { multisig, batches } = project;
  const facts = [
    { name: 'Batches executed', value: batches.EXECUTED },
    { name: 'open', value: project.openBatches },
    { name: 'failed', value: batches.FAILED },
    {
      name: 'Company approval',
      value: project.approvalMode === 'automatic' ? 'automatic' : 'by a person',
    },
    { name: 'Multisig', value: <AddressText address={multisig.address} of="multisig" isLinked /> },
    {
      name: isOwn ? 'Votes: your wallet' : 'Votes: its wallet',
      value: <AddressText address={multisig.wallet} of="wallet" />,
    },
    { name: 'Votes: the company', value: <AddressText address={multisig.company} of="company" /> },
    { name: 'Pays fees', value: <AddressText address={multisig.operator} of="operator" /> },
    { name: 'Registered', value: <TimeText at={project.dateCreated} form="day" /> },
  ];
  return (
    <Panel title="Project" isFlush>
      <dl className="divide-y px-4 py-1">
        {facts.map(({ name, value }) => (
          <div key={name} className="flex items-baseline justify-between gap-4 py-1.5">
            <dt className="text-quiet">{name}</dt>
            <dd className="tabular text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
