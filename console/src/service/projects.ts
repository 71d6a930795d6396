import { call } from './call.ts';

/** The projects of the wallet that is signed in. */
export const projectsQuery = { queryKey: ['projects'], queryFn: () => call('listProjects', {}) };
