import type { Attention, ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { CircleAlert, Clock, type LucideIcon, Plus } from 'lucide-react';
import { projectQuery, useOwnsProject, useTakesBatches } from '../../lib/api/projects.ts';
import { tokenName, tokenUnit } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { LoadMore, Page, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { FirstSteps } from './first-steps.tsx';
import { MintRisk } from './mint-risk.tsx';
import { RecentBatches } from './recent-batches.tsx';
import { TodayStats } from './today-stats.tsx';
import { UsagePanel } from './usage-panel.tsx';

/** The overview of a project: vault, daily limits, what needs attention, usage, recent batches. */
export function Overview() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  return (
    <QueryView query={project} skeleton={<OverviewSkeleton />} errorTitle="Project">
      {(found) => <ProjectSummary project={found} />}
    </QueryView>
  );
}

function ProjectSummary({ project }: { readonly project: ProjectOverview }) {
  const { id: projectId, token } = project;
  const canEdit = useOwnsProject(projectId);
  const canCreate = useTakesBatches(project);
  // ProjectLayout shows on every screen that the project is paused.
  const attention = project.attention.filter(({ kind }) => kind !== 'PAUSED');
  const waitsForApproval = attention[0]?.kind === 'APPROVE';
  // Figures of batches are all zero before the first one.
  const isUnused = canEdit && Object.values(project.batches).every((count) => count === 0);
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
        canEdit &&
        canCreate && (
          <ButtonLink to="/p/$projectId/new" params={{ projectId }} tone={waitsForApproval ? 'plain' : 'primary'}>
            <Plus size={16} aria-hidden /> New batch
          </ButtonLink>
        )
      }
    >
      {!isUnused && <TodayStats project={project} />}
      <MintRisk mint={token.mint} />
      <AttentionList {...{ project, attention, canEdit, canCreate }} />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[minmax(0,1fr)_320px] lg:items-start">
        <div className="flex min-w-0 flex-col gap-6">
          {canEdit && <FirstSteps {...{ project, isUnused, canCreate }} />}
          {!isUnused && <UsagePanel projectId={projectId} token={token} />}
        </div>
        <ProjectFacts project={project} isOwn={canEdit} />
      </div>
      {!isUnused && <RecentBatches projectId={projectId} unit={tokenUnit(token)} />}
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
  readonly project: ProjectOverview;
  readonly attention: readonly Attention[];
  /** True for the project’s wallet; company operators can only read. */
  readonly canEdit: boolean;
}

/** Lists what needs a person’s attention, most urgent first, each with a link to act on it. */
function AttentionList({
  project,
  attention,
  canEdit,
  canCreate,
}: AttentionListProps & { readonly canCreate: boolean }) {
  const more = attention.slice(MAX_SHOWN);
  const props = { project, canEdit, mostUrgent: attention[0] };
  return (
    <Panel
      title="Needs attention"
      aside={
        attention.length === 0 &&
        (canCreate ? (
          <StatusBadge status="done" label="Nothing to do" />
        ) : (
          <StatusBadge status="waiting" label={project.isPaused ? 'Paused by the company' : 'Not admitted'} />
        ))
      }
      isFlush
    >
      {attention.length > 0 && <AttentionItems {...props} attention={attention.slice(0, MAX_SHOWN)} />}
      {more.length > 0 && (
        <div className="border-t px-4 py-2.5">
          <LoadMore label={`Show ${more.length.toLocaleString('en')} more`}>
            {() => <AttentionItems {...props} attention={more} />}
          </LoadMore>
        </div>
      )}
    </Panel>
  );
}

/** More items would hide the rest of the screen from a phone; the list of batches filters them. */
const MAX_SHOWN = 5;

interface AttentionItemsProps extends AttentionListProps {
  /** Has the primary button. */
  readonly mostUrgent: Attention | undefined;
}

function AttentionItems({ project, attention, canEdit, mostUrgent }: AttentionItemsProps) {
  return (
    <ul className="divide-y">
      {attention.map((item) => {
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
            <AttentionLink projectId={project.id} item={item} isFirst={item === mostUrgent} canEdit={canEdit} />
          </li>
        );
      })}
    </ul>
  );
}

const PENDING = { Icon: Clock, className: 'text-waiting' };
const FAILED = { Icon: CircleAlert, className: 'text-failed' };

const MARKS: { readonly [Kind in Attention['kind']]: { readonly Icon: LucideIcon; readonly className: string } } = {
  APPROVE: PENDING,
  COMPANY: PENDING,
  TROUBLE: FAILED,
  UNDERFUNDED: FAILED,
  PAUSED: FAILED,
  LIMIT: PENDING,
  KEY_EXPIRES: PENDING,
  CLUSTER: FAILED,
};

interface AttentionLinkProps {
  readonly projectId: string;
  readonly item: Attention;
  /** The most urgent item has the primary button. */
  readonly isFirst: boolean;
  readonly canEdit: boolean;
}

function AttentionLink({ projectId, item, isFirst, canEdit }: AttentionLinkProps) {
  const { kind, batchId } = item;
  switch (kind) {
    case 'APPROVE':
      if (!canEdit) return <BatchLink projectId={projectId} batchId={batchId} />;
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
          View limits
        </ButtonLink>
      );
    case 'KEY_EXPIRES':
      return (
        <ButtonLink to="/p/$projectId/keys" params={{ projectId }} size="small">
          View keys
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
      View batch
    </ButtonLink>
  );
}

interface ProjectFactsProps {
  readonly project: ProjectOverview;
  /** True if the signed-in wallet owns the project. */
  readonly isOwn: boolean;
}

/** Shows the project’s batches, approvers and public addresses. */
function ProjectFacts({ project, isOwn }: ProjectFactsProps) {
  const { multisig, batches } = project;
  const facts = [
    { name: 'Executed batches', value: batches.EXECUTED.toLocaleString('en') },
    { name: 'Open batches', value: project.openBatches.toLocaleString('en') },
    { name: 'Failed batches', value: batches.FAILED.toLocaleString('en') },
    {
      name: 'Company approval',
      value: project.approvalMode === 'automatic' ? 'Automatic' : 'Manual',
    },
    { name: 'Multisig', value: <AddressText address={multisig.address} of="multisig" isLinked /> },
    {
      name: isOwn ? 'Your wallet' : 'Project wallet',
      value: <AddressText address={multisig.wallet} of="wallet" />,
    },
    { name: 'Company approver', value: <AddressText address={multisig.company} of="company" /> },
    { name: 'Operator (pays fees)', value: <AddressText address={multisig.operator} of="operator" /> },
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
