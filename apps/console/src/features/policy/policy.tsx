import type { ProjectOverview, ProjectPolicy } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { policyQuery } from '../../lib/api/policies.ts';
import { projectQuery } from '../../lib/api/projects.ts';
import { useSession } from '../../lib/api/session.ts';
import { Button } from '../../ui/button.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { PolicyForm } from './policy-form.tsx';
import { RuleList } from './rule-list.tsx';

/** The rules of the company for a project: read by its wallet, set by the company’s operators. */
export function Policy() {
  const { projectId } = useParams({ from: '/p/$projectId/rules' });
  const project = useQuery(projectQuery(projectId));
  const policy = useQuery(policyQuery(projectId));
  return (
    <Page title="Rules" lead="Set by the company, for every batch of this project">
      <QueryView query={policy} skeleton={<SkeletonLines count={3} className="h-24" />}>
        {(shown) => (
          <>
            <RulesPanel policy={shown} project={project.data} />
            {shown.versions.length > 0 && <VersionsPanel policy={shown} />}
          </>
        )}
      </QueryView>
    </Page>
  );
}

interface RulesPanelProps {
  readonly policy: ProjectPolicy;
  /** Absent while it loads. */
  readonly project: ProjectOverview | undefined;
}

function RulesPanel({ policy, project }: RulesPanelProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const [isEditing, setEditing] = useState(false);
  const canEdit = isOperator && project !== undefined;
  return (
    <Panel
      title={policy.version === 0 ? 'No rules yet' : `Version ${policy.version}`}
      aside={
        canEdit &&
        !isEditing && (
          <Button size="small" onClick={() => setEditing(true)}>
            Change rules
          </Button>
        )
      }
    >
      {isEditing && canEdit ? (
        <PolicyForm project={project} policy={policy} onDone={() => setEditing(false)} />
      ) : (
        <PresentRules policy={policy} />
      )}
    </Panel>
  );
}

function PresentRules({ policy: { rules, policy } }: { readonly policy: ProjectPolicy }) {
  if (rules.length === 0) {
    return (
      <p className="text-quiet">
        The company has set no rules beside the approval mode and the daily amounts in the settings.
      </p>
    );
  }
  const { allowed = null, denied = [] } = policy;
  return <RuleList sentences={rules.map(({ sentence }) => sentence)} {...{ allowed, denied }} />;
}

function VersionsPanel({ policy: { versions } }: { readonly policy: ProjectPolicy }) {
  return (
    <Panel title="Versions" isFlush>
      <ol className="divide-y">
        {versions.map(({ version, operator, dateApplied, changes }) => (
          <li key={version} className="flex flex-col gap-2 p-4">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4">
              <h3 className="font-medium">Version {version}</h3>
              <span className="text-sm text-quiet">
                <TimeText at={dateApplied} /> by <AddressText address={operator} of="operator" />
              </span>
            </div>
            <ul className="flex flex-col gap-1 text-sm">
              {changes.length === 0 && <li>No differences.</li>}
              {changes.map((change) => (
                <li key={change}>
                  <MessageText text={change} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
