import type { PROJECT_OPERATIONS } from '@flywheel/api';
import { requireVisibleProject } from '../../projects/access.ts';
import { readHistory } from '../../projects/history.ts';
import { listProjects } from '../../projects/overview/list-projects.ts';
import { readOverview } from '../../projects/overview/overview.ts';
import { readUsage } from '../../projects/overview/usage.ts';
import { changeLimits, changeProofTypes, readSettings } from '../../projects/settings/settings.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

const DEFAULT_DAYS = 30;
const DEFAULT_PAGE = 50;

/** What a project is, holds and did. */
export function createProjectHandlers(deps: ConsoleDeps): Handlers<typeof PROJECT_OPERATIONS> {
  return {
    listProjects: async ({ wallet }) => ({ status: 200, body: { projects: await listProjects(deps, wallet) } }),

    getProject: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readOverview(deps, wallet, params.projectId.toLowerCase()),
    }),

    getUsage: async ({ wallet }, { params, query: { days } }) => ({
      status: 200,
      body: await readUsage(deps, wallet, params.projectId.toLowerCase(), Number(days ?? DEFAULT_DAYS)),
    }),

    getSettings: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readSettings(deps, wallet, params.projectId.toLowerCase()),
    }),

    changeLimits: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeLimits(deps, wallet, params.projectId.toLowerCase(), body),
    }),

    changeProofTypes: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeProofTypes(deps, wallet, params.projectId.toLowerCase(), body.proofTypes),
    }),

    listProjectHistory: async ({ wallet }, { params, query: { cursor, limit } }) => {
      const { id } = await requireVisibleProject(deps, wallet, params.projectId.toLowerCase());
      return { status: 200, body: await readHistory(deps, id, { cursor, limit: Number(limit ?? DEFAULT_PAGE) }) };
    },
  };
}
