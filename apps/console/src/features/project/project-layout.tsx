import { isFlywheelError } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams } from '@tanstack/react-router';
import { projectQuery, useIsServed } from '../../lib/api/projects.ts';
import { useSignOut } from '../../lib/api/session.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { NavTab, NavTabs } from '../../ui/nav-tabs.tsx';
import { AddressText } from '../../ui/text.tsx';
import { SignInPrompt } from '../session/sign-in-dialog.tsx';
import { SignedIn } from '../session/signed-in.tsx';

const TABS = [
  { to: '/p/$projectId', name: 'Overview', exact: true },
  { to: '/p/$projectId/batches', name: 'Batches', exact: false },
  { to: '/p/$projectId/new', name: 'New batch', exact: false },
  { to: '/p/$projectId/vault', name: 'Vault', exact: false },
  { to: '/p/$projectId/keys', name: 'API keys', exact: false },
  { to: '/p/$projectId/rules', name: 'Rules', exact: false },
  { to: '/p/$projectId/settings', name: 'Settings', exact: false },
] as const;

/** Layout of a project’s screens, with their tabs. */
export function ProjectLayout() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  return (
    <SignedIn prompt={<SignInPrompt />}>
      {(wallet) => <ProjectScreens projectId={projectId} wallet={wallet} />}
    </SignedIn>
  );
}

interface ProjectScreensProps {
  readonly projectId: string;
  readonly wallet: string;
}

function ProjectScreens({ projectId, wallet }: ProjectScreensProps) {
  const { data: project, error } = useQuery(projectQuery(projectId));
  if (isFlywheelError(error, 'ERR_PROJECT_NOT_FOUND')) return <NotAMember projectId={projectId} wallet={wallet} />;
  // Only the owner creates batches. All tabs are shown until it is known who that is, so that none moves for the owner.
  const isForeign = project !== undefined && project.wallet !== wallet;
  const tabs = isForeign ? TABS.filter(({ to }) => to !== '/p/$projectId/new') : TABS;
  return (
    <>
      <NavTabs label="Project">
        {tabs.map(({ to, name, exact }) => (
          <NavTab key={to} to={to} params={{ projectId }} activeOptions={{ exact }}>
            {name}
          </NavTab>
        ))}
      </NavTabs>
      <ProjectNotices projectId={projectId} wallet={wallet} />
      <Outlet />
    </>
  );
}

/** The service answers the same for a project of another wallet and for one that does not exist. */
function NotAMember({ projectId, wallet }: ProjectScreensProps) {
  const signOut = useSignOut();
  return (
    <Page title="No access">
      <Notice tone="failed" title="This wallet is not a member of the project">
        <p>
          You are signed in with <AddressText address={wallet} of="your wallet" />. Project{' '}
          <AddressText address={projectId} of="project id" /> belongs to another wallet, or it does not exist. Sign out,
          then sign in with the project’s wallet.
        </p>
        <p className="mt-1 font-mono text-xs">ERR_PROJECT_NOT_FOUND</p>
      </Notice>
      <div className="flex flex-wrap gap-2">
        <ButtonLink to="/">Your projects</ButtonLink>
        <Button isBusy={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out
        </Button>
      </div>
    </Page>
  );
}

/** Says on every screen that the project is not admitted, is paused, or belongs to another wallet. */
function ProjectNotices({ projectId, wallet }: ProjectScreensProps) {
  const { data: project } = useQuery(projectQuery(projectId));
  const isServed = useIsServed(project ?? { isAdmitted: true });
  if (!project) return null;
  const isForeign = project.wallet !== wallet;
  if (!isForeign && !project.isPaused && isServed) return null;
  return (
    <div className="mb-6 flex flex-col gap-3">
      {!isServed && (
        <Notice tone="waiting" title="The company has not admitted this project">
          It can create no batches until the company admits it. Ask the company. Whatever you deposit meanwhile can be
          withdrawn.
        </Notice>
      )}
      {project.isPaused && (
        <Notice tone="waiting" title="The company has paused this project">
          {project.pauseReason !== undefined && `“${project.pauseReason}” `}
          No batch can be created or executed until the company resumes the project. Approvals stay valid.
        </Notice>
      )}
      {isForeign && (
        <Notice tone="plain" title="You are viewing this project as a company operator">
          You can read everything, and change its rules and what the company approves by itself. Everything else is
          changed by its wallet, <AddressText address={project.wallet} of="wallet" />.
        </Notice>
      )}
    </div>
  );
}
