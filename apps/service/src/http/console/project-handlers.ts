import type { PROJECT_OPERATIONS } from '@flywheel/api';
import { requireVisibleProject } from '../../projects/access.ts';
import { readHistory } from '../../projects/history.ts';
import { listProjects } from '../../projects/overview/list-projects.ts';
import { readOverview } from '../../projects/overview/overview.ts';
import { readUsage } from '../../projects/overview/usage.ts';
import { changeLimits, changeProofTypes, readSettings } from '../../projects/settings/settings.ts';
import type { Handlers } from '../handlers.ts';
import { askedPage, presentNext } from '../wire/paging.ts';
import type { ConsoleDeps } from './console-handlers.ts';

const DEFAULT_DAYS = 30;

/** What a project is, holds and did. */
export function createProjectHandlers(deps: ConsoleDeps): Handlers<typeof PROJECT_OPERATIONS> {
  return {
    listProjects: async ({ wallet }) => ({ status: 200, body: { projects: await listProjects(deps, wallet) } }),

    getProject: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readOverview(deps, wallet, params.projectId),
    }),

    getUsage: async ({ wallet }, { params, query: { days } }) => ({
      status: 200,
      body: await readUsage(deps, wallet, params.projectId, Number(days ?? DEFAULT_DAYS)),
    }),

    getSettings: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readSettings(deps, wallet, params.projectId),
    }),

    changeLimits: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeLimits(deps, wallet, params.projectId, body),
    }),

    changeProofTypes: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeProofTypes(deps, wallet, params.projectId, body.proofTypes),
    }),

    listProjectHistory: async ({ wallet }, { params, query }) => {
      const { id } = await requireVisibleProject(deps, wallet, params.projectId);
      const page = await readHistory(deps, id, askedPage(query));
      return { status: 200, body: { entries: [...page.rows], ...presentNext(page) } };
    },
  };
}
