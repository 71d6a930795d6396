import { AUDIT_NODE_PARAMETER } from '@flywheel/api';
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { needsNewDocument } from '../lib/document-policy.ts';
import { loadCode } from '../lib/load-code.ts';
import { ButtonLink } from '../ui/button.tsx';
import { EmptyState } from '../ui/feedback.tsx';
import { Page } from '../ui/layout.tsx';
import { ErrorPage } from './error-page.tsx';
import { plainSearch } from './plain-search.ts';
import { Shell } from './shell.tsx';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  beforeLoad: ({ location: { href }, preload }) => {
    if (!preload && needsNewDocument(href)) throw redirect({ href, reloadDocument: true });
  },
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => loadCode(() => import('../features/home/home.tsx')), 'Home'),
});
const register = createRoute({
  getParentRoute: () => root,
  path: '/register',
  validateSearch: (search: Record<string, unknown>): { step?: string } => textOf(search, 'step'),
  component: lazyRouteComponent(() => loadCode(() => import('../features/register/register.tsx')), 'Register'),
});
const proof = createRoute({
  getParentRoute: () => root,
  path: '/proof',
  validateSearch: (search: Record<string, unknown>): { type?: string; payload?: string; signature?: string } => ({
    ...textOf(search, 'type'),
    ...textOf(search, 'payload'),
    ...textOf(search, 'signature'),
  }),
  component: lazyRouteComponent(() => loadCode(() => import('../features/proof/proof.tsx')), 'Proof'),
});
const publicVault = createRoute({
  getParentRoute: () => root,
  path: '/vault/$address',
  component: lazyRouteComponent(() => loadCode(() => import('../features/vault/public-vault.tsx')), 'PublicVault'),
});
const vaultAudit = createRoute({
  getParentRoute: () => root,
  path: '/audit/$vault',
  validateSearch: (search: Record<string, unknown>): AuditSearch => ({
    ...textOf(search, AUDIT_NODE_PARAMETER),
    ...textOf(search, 'from'),
    ...textOf(search, 'to'),
    ...textOf(search, 'multisig'),
  }),
  component: lazyRouteComponent(() => loadCode(() => import('../features/vault-audit/vault-audit.tsx')), 'VaultAudit'),
});
const company = createRoute({
  getParentRoute: () => root,
  path: '/company',
  component: lazyRouteComponent(() => loadCode(() => import('../features/company/company.tsx')), 'Company'),
});
const companyWaiting = createRoute({
  getParentRoute: () => company,
  path: '/',
  component: lazyRouteComponent(
    () => loadCode(() => import('../features/company/approval-queue.tsx')),
    'ApprovalQueue',
  ),
});
const companyProjects = createRoute({
  getParentRoute: () => company,
  path: '/projects',
  component: lazyRouteComponent(
    () => loadCode(() => import('../features/company/company-projects.tsx')),
    'CompanyProjects',
  ),
});
const companyJobs = createRoute({
  getParentRoute: () => company,
  path: '/jobs',
  component: lazyRouteComponent(() => loadCode(() => import('../features/company/jobs.tsx')), 'Jobs'),
});
const companyAudit = createRoute({
  getParentRoute: () => company,
  path: '/audit',
  component: lazyRouteComponent(() => loadCode(() => import('../features/company/company.tsx')), 'AuditLog'),
});
const companyRoutes = company.addChildren([companyWaiting, companyProjects, companyJobs, companyAudit]);

const project = createRoute({
  getParentRoute: () => root,
  path: '/p/$projectId',
  component: lazyRouteComponent(
    () => loadCode(() => import('../features/project/project-layout.tsx')),
    'ProjectLayout',
  ),
});
const overview = createRoute({
  getParentRoute: () => project,
  path: '/',
  component: lazyRouteComponent(() => loadCode(() => import('../features/project/overview.tsx')), 'Overview'),
});
const batches = createRoute({
  getParentRoute: () => project,
  path: '/batches',
  validateSearch: (search: Record<string, unknown>): { show?: string } => textOf(search, 'show'),
  component: lazyRouteComponent(() => loadCode(() => import('../features/batch/batches.tsx')), 'Batches'),
});
const batch = createRoute({
  getParentRoute: () => project,
  path: '/batches/$batchId',
  component: lazyRouteComponent(() => loadCode(() => import('../features/batch/batch.tsx')), 'BatchScreen'),
});
const compose = createRoute({
  getParentRoute: () => project,
  path: '/new',
  component: lazyRouteComponent(() => loadCode(() => import('../features/compose/compose.tsx')), 'Compose'),
});
const approve = createRoute({
  getParentRoute: () => project,
  path: '/approve/$batchId',
  component: lazyRouteComponent(() => loadCode(() => import('../features/approve/approve.tsx')), 'Approve'),
});
const vault = createRoute({
  getParentRoute: () => project,
  path: '/vault',
  component: lazyRouteComponent(() => loadCode(() => import('../features/vault/vault.tsx')), 'VaultScreen'),
});
const keys = createRoute({
  getParentRoute: () => project,
  path: '/keys',
  component: lazyRouteComponent(() => loadCode(() => import('../features/keys/keys.tsx')), 'Keys'),
});
const rules = createRoute({
  getParentRoute: () => project,
  path: '/rules',
  component: lazyRouteComponent(() => loadCode(() => import('../features/policy/policy.tsx')), 'Policy'),
});
const settings = createRoute({
  getParentRoute: () => project,
  path: '/settings',
  component: lazyRouteComponent(() => loadCode(() => import('../features/settings/settings.tsx')), 'Settings'),
});

const projectRoutes = project.addChildren([overview, batches, batch, compose, approve, vault, keys, rules, settings]);

/** Maps each address to its screen. A screen’s code loads when the screen first opens, or the pointer is on a link to it. */
export const router = createRouter({
  routeTree: root.addChildren([home, register, proof, publicVault, vaultAudit, companyRoutes, projectRoutes]),
  defaultPreload: 'intent',
  // Another batch or project starts from nothing: what a screen says of one must not stand beside another.
  defaultRemountDeps: ({ params }) => params,
  scrollRestoration: true,
  defaultErrorComponent: ErrorPage,
  ...plainSearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

interface AuditSearch {
  readonly [AUDIT_NODE_PARAMETER]?: string;
  readonly from?: string;
  readonly to?: string;
  readonly multisig?: string;
}

function textOf<Key extends string>(search: Record<string, unknown>, key: Key): { [K in Key]?: string } {
  const value = search[key];
  const found: { [K in Key]?: string } = {};
  if (typeof value === 'string') found[key] = value;
  return found;
}

function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState title="There is no page at this address">
        <p>The address may be mistyped, or from an older version.</p>
        <ButtonLink to="/">Home</ButtonLink>
      </EmptyState>
    </Page>
  );
}
