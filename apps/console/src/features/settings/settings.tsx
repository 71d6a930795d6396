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

/** The settings of a project, and the history of their changes. */
export function Settings() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  const settings = useQuery(settingsQuery(projectId));
  const history = useInfiniteQuery(historyQuery(projectId));
  return (
    <Page
      title="Settings"
      lead="Changes apply to new batches. Open batches keep the daily limits and proof types they were created with."
    >
      <QueryView query={project} skeleton={<SettingsSkeleton />}>
        {(found) => (
          <QueryView query={settings} skeleton={<SettingsSkeleton />}>
            {(current) => <SettingsPanels project={found} settings={current} />}
          </QueryView>
        )}
      </QueryView>
      <Panel title="Change history">
        <AuditList history={history} emptyText="No changes since the registration." />
      </Panel>
    </Page>
  );
}

interface SettingsPanelsProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
}

function SettingsPanels({ project, settings }: SettingsPanelsProps) {
  const canEdit = useOwnsProject(project.id);
  return (
    <>
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2 lg:items-start">
        <LimitsPanel project={project} settings={settings} canEdit={canEdit} />
        <ApprovalModePanel project={project} settings={settings} />
      </div>
      <ApproversPanel project={project} />
      <ProofTypesPanel projectId={project.id} settings={settings} canEdit={canEdit} />
      <WebhooksPanel projectId={project.id} canEdit={canEdit} />
    </>
  );
}

function SettingsSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <SkeletonLines count={1} className="h-72" />
        <SkeletonLines count={1} className="h-72" />
      </div>
      <SkeletonLines count={1} className="h-40" />
    </div>
  );
}
