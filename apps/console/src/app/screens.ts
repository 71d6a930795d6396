interface Screen {
  readonly to: string;
  readonly name: string;
  /** The key that opens the screen after `g`. */
  readonly key: string | null;
}

/** Screens outside of a project, for the command palette and the shortcuts. */
export const SCREENS = [
  { to: '/', name: 'Your projects', key: 'h' },
  { to: '/register', name: 'Register a project', key: null },
  { to: '/proof', name: 'Check a proof', key: 'p' },
] as const satisfies readonly Screen[];

/** Screens of a project. */
export const PROJECT_SCREENS = [
  { to: '/p/$projectId', name: 'Overview', key: 'o' },
  { to: '/p/$projectId/batches', name: 'Batches', key: 'b' },
  { to: '/p/$projectId/new', name: 'New batch', key: 'n' },
  { to: '/p/$projectId/vault', name: 'Vault', key: 'v' },
  { to: '/p/$projectId/keys', name: 'API keys', key: 'k' },
  { to: '/p/$projectId/rules', name: 'Rules', key: null },
  { to: '/p/$projectId/settings', name: 'Settings', key: 's' },
] as const satisfies readonly Screen[];

/** Screens of the company’s operators. */
export const COMPANY_SCREENS = [
  { to: '/company', name: 'Company: waiting for you', key: 'c' },
  { to: '/company/projects', name: 'Company: projects', key: null },
  { to: '/company/jobs', name: 'Company: jobs', key: null },
  { to: '/company/audit', name: 'Company: audit log', key: null },
] as const satisfies readonly Screen[];
