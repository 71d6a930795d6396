/** The screens that belong to no project. */
export const SCREENS = [
  { to: '/', name: 'Your projects', letter: 'h' },
  { to: '/register', name: 'Register a project', letter: null },
  { to: '/proof', name: 'Check a proof', letter: 'p' },
] as const satisfies readonly Place[];

/** Those of a project. */
export const PROJECT_SCREENS = [
  { to: '/p/$projectId', name: 'Overview', letter: 'o' },
  { to: '/p/$projectId/batches', name: 'Batches', letter: 'b' },
  { to: '/p/$projectId/new', name: 'New batch', letter: 'n' },
  { to: '/p/$projectId/vault', name: 'Vault', letter: 'v' },
  { to: '/p/$projectId/keys', name: 'Keys', letter: 'k' },
  { to: '/p/$projectId/settings', name: 'Settings', letter: 's' },
] as const satisfies readonly Place[];

/** Those of the company’s operators. */
export const COMPANY_SCREENS = [
  { to: '/company', name: 'Company: waiting for you', letter: 'c' },
  { to: '/company/projects', name: 'Company: projects', letter: null },
  { to: '/company/jobs', name: 'Company: jobs', letter: null },
  { to: '/company/audit', name: 'Company: audit log', letter: null },
] as const satisfies readonly Place[];

interface Place {
  readonly to: string;
  readonly name: string;
  /** Leads there after `g`. */
  readonly letter: string | null;
}
