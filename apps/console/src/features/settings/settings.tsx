import type { ProjectOverview, ProjectSettings } from '@flywheel/api';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { historyQuery, projectQuery, settingsQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { AuditList } from '../audit/audit-list.tsx';
import { ApprovalModePanel } from './approval-mode-panel.tsx';
import { ApproversPanel } from './approvers-panel.tsx';
import { LimitsPanel } from './limits-panel.tsx';
import { ProofTypesPanel } from './proof-types-panel.tsx';
import { WebhooksPanel } from './webhooks-panel.tsx';

/** What a project may do and how its batches are approved; who changed it, and when. */
export function Settings() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  const settings = useQuery(settingsQuery(projectId));
  const history = useInfiniteQuery(historyQuery(projectId));
  return (
    <Page title="Settings" lead="A change holds from the next init on. Batches that are open keep what they have.">
      <QueryView query={project} skeleton={<SettingsSkeleton />}>
        {(found) => (
          <QueryView query={settings} skeleton={<SettingsSkeleton />}>
            {(now) => <Panels project={found} settings={now} />}
          </QueryView>
        )}
      </QueryView>
      <Panel title="Who changed what">
        <AuditList history={history} emptyText="Nothing has been changed since the registration." />
      </Panel>
    </Page>
  );
}

interface PanelsProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
}

function Panels({ project, settings }: PanelsProps) {
  const mayChange = useOwnsProject(project.id);
  return (
    <>
      <div className="grid gap-6 lg:grid-cols-2 lg:items-start">
        <LimitsPanel project={project} settings={settings} mayChange={mayChange} />
        <ApprovalModePanel projectId={project.id} settings={settings} />
      </div>
      <ApproversPanel project={project} />
      <ProofTypesPanel projectId={project.id} settings={settings} mayChange={mayChange} />
      <WebhooksPanel projectId={project.id} mayChange={mayChange} />
    </>
  );
}

function SettingsSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <div className="grid gap-6 lg:grid-cols-2">
        <SkeletonLines count={1} className="h-72" />
        <SkeletonLines count={1} className="h-72" />
      </div>
      <SkeletonLines count={1} className="h-40" />
    </div>
  );
}
