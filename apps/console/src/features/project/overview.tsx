import type { ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { projectQuery } from '../../lib/service/projects.ts';
import { tokenName, tokenUnit } from '../../lib/text/token-name.ts';
import { ButtonLink } from '../../ui/form/button.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { AttentionList } from './attention-list.tsx';
import { ProjectFacts } from './project-facts.tsx';
import { RecentBatches } from './recent-batches.tsx';
import { TodayStats } from './today-stats.tsx';
import { UsagePanel } from './usage-panel.tsx';
import { useMayChange } from './use-may-change.ts';

/** A project at a glance: what its vault holds, what today has used, what waits for whom. */
export function Overview() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  return (
    <Loaded query={project} skeleton={<OverviewSkeleton />}>
      {(found) => <Glance project={found} />}
    </Loaded>
  );
}

function Glance({ project }: { readonly project: ProjectOverview }) {
  const { id: projectId, token } = project;
  const mayChange = useMayChange(projectId);
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
        <Lines count={1} className="h-28" />
        <Lines count={1} className="h-28" />
        <Lines count={1} className="h-28" />
        <Lines count={1} className="h-28" />
      </div>
      <Panel title="Needs attention">
        <Lines count={1} className="h-10" />
      </Panel>
      <div className="grid gap-6 lg:grid-cols-[1fr_320px]">
        <Lines count={1} className="h-80" />
        <Lines count={1} className="h-80" />
      </div>
    </div>
  );
}
