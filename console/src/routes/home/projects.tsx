import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { ButtonLink } from '../../parts/form/button.tsx';
import { Ring } from '../../parts/show/ring.tsx';
import { TimeText } from '../../parts/show/time-text.tsx';
import { Empty } from '../../parts/state/empty.tsx';
import { Loaded } from '../../parts/state/loaded.tsx';
import { Page } from '../../parts/state/page.tsx';
import { Lines } from '../../parts/state/skeleton.tsx';
import { projectsQuery } from '../../service/projects.ts';
import { shorten } from '../../text/shorten.ts';

/** The projects of the wallet that is signed in. */
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
      <Loaded query={projects} skeleton={<Lines count={3} className="h-16" />}>
        {({ projects: found }) =>
          found.length === 0 ? (
            <Empty title="No project yet">
              <p>A project is one token, its vault and its daily limits. Registering takes about a minute.</p>
              <ButtonLink to="/register">Register the first</ButtonLink>
            </Empty>
          ) : (
            <ul className="divide-y rounded-lg border bg-raised">
              {found.map((project) => (
                <li key={project.id}>
                  <Link
                    to="/p/$projectId"
                    params={{ projectId: project.id }}
                    className="flex min-h-16 items-center gap-4 px-4 py-3 hover:bg-sunken"
                  >
                    <Ring size={22} className="text-accent" />
                    <span className="flex-1">
                      <span className="block font-medium">{project.token.symbol ?? shorten(project.token.mint)}</span>
                      <span className="block font-mono text-xs text-quiet">{shorten(project.token.mint)}</span>
                    </span>
                    <span className="text-sm text-quiet">
                      since <TimeText at={project.dateCreated} form="day" />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}
