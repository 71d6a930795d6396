import type { ProjectSummary } from '@flywheel/api';
import { pluralize, shorten } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { projectsQuery } from '../../lib/api/projects.ts';
import { tokenName } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { TimeText } from '../../ui/text.tsx';

/** Lists the projects of the signed-in wallet. */
export function Projects() {
  const projects = useQuery(projectsQuery);
  return (
    <Page
      title="Your projects"
      action={
        <ButtonLink to="/register" tone="primary">
          <Plus size={16} aria-hidden /> Register a project
        </ButtonLink>
      }
    >
      <QueryView query={projects} skeleton={<SkeletonLines count={3} className="h-18" />}>
        {({ projects: all }) =>
          all.length === 0 ? (
            <NoProjects />
          ) : (
            <ul className="divide-y overflow-hidden rounded-lg border bg-raised">
              {all.map((project) => (
                <li key={project.id}>
                  <ProjectLink project={project} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Page>
  );
}

function ProjectLink({ project }: { readonly project: ProjectSummary }) {
  const { id: projectId, token, vaultAddress, openBatches, isPaused, dateCreated } = project;
  return (
    <Link
      to="/p/$projectId"
      params={{ projectId }}
      className="flex min-h-18 flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 outline-offset-[-2px] hover:bg-sunken"
    >
      <Ring size={24} progress={openBatches === 0 ? 1 : undefined} className="text-accent" />
      <span className="min-w-0 flex-1 basis-40">
        <span className="block font-medium">{tokenName(token)}</span>
        <span className="block text-xs text-quiet">
          vault <span className="font-mono">{shorten(vaultAddress)}</span>
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-6 text-sm text-quiet">
        {isPaused && <StatusBadge status="waiting" label="Paused" />}
        <span className="tabular">
          {openBatches === 0 ? 'no open batches' : pluralize(openBatches, 'open batch', 'open batches')}
        </span>
        <span>
          created <TimeText at={dateCreated} form="day" />
        </span>
      </span>
    </Link>
  );
}

function NoProjects() {
  return (
    <EmptyState title="No projects yet">
      <p>A project is one token with a vault and daily limits. Registration takes about a minute.</p>
      <ButtonLink to="/register">Register a project</ButtonLink>
      <div className="w-full text-left">
        <CodeBlock
          label="Or from a terminal"
          code={
            'npx flywheel register --wallet wallet.json --mint "$MINT" \\\n  --burn-limit 1000 --airdrop-limit 1000 --scopes burn,airdrop'
          }
        />
      </div>
    </EmptyState>
  );
}
