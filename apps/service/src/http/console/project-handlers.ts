import {
  DEFAULT_USAGE_DAYS,
  type KEY_OPERATIONS,
  type PROJECT_OPERATIONS,
  type REGISTRATION_OPERATIONS,
} from '@flywheel/api';
import { cancelBatchesOfKey } from '../../batches/cancel.ts';
import { trySchema } from '../../payload-schemas/check.ts';
import { requireOwnProject, requireVisibleProject } from '../../projects/access.ts';
import { readHistory } from '../../projects/history.ts';
import { createKey, listKeys, revokeKey, rotateKey } from '../../projects/keys.ts';
import { readOverview, readUsage } from '../../projects/overview.ts';
import { confirmRegistration, createRegistration, previewMint } from '../../projects/registration.ts';
import { changeLimits, changeProofTypes, readSettings } from '../../projects/settings.ts';
import { listProjects } from '../../projects/summaries.ts';
import { pageParams, presentNext } from '../batches/present.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

/** Handlers of the operations that read a project and change its settings. */
export function createProjectHandlers(deps: ConsoleDeps): Handlers<typeof PROJECT_OPERATIONS> {
  return {
    listProjects: async ({ wallet }) => ({ status: 200, body: { projects: await listProjects(deps, wallet) } }),

    getProject: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readOverview(deps, wallet, params.projectId),
    }),

    getUsage: async ({ wallet }, { params, query: { days } }) => ({
      status: 200,
      body: await readUsage(deps, wallet, params.projectId, Number(days ?? DEFAULT_USAGE_DAYS)),
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
      body: await changeProofTypes(deps, wallet, params.projectId, body),
    }),

    listProjectHistory: async ({ wallet }, { params, query }) => {
      const { id } = await requireVisibleProject(deps, wallet, params.projectId);
      const page = await readHistory(deps, id, pageParams(query));
      return { status: 200, body: { entries: [...page.rows], ...presentNext(page) } };
    },
  };
}

/** Handlers of the operations on a project's API keys. */
export function createKeyHandlers(deps: ConsoleDeps): Handlers<typeof KEY_OPERATIONS> {
  return {
    listKeys: async ({ wallet }, { params }) => ({
      status: 200,
      body: { keys: await listKeys(deps, wallet, params.projectId) },
    }),

    createKey: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await createKey(deps, wallet, params.projectId, body),
    }),

    rotateKey: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await rotateKey(deps, wallet, params.projectId, params.keyId, body),
    }),

    revokeKey: async ({ wallet: actor }, { params: { projectId, keyId } }) => {
      const revoked = await revokeKey(deps, actor, projectId, keyId);
      const project = await requireOwnProject(deps, actor, projectId);
      const cancelledBatches = await cancelBatchesOfKey(deps, project, { keyId, actor });
      return { status: 200, body: { ...revoked, cancelledBatches } };
    },
  };
}

/** Handlers of the operations that register a project. */
export function createRegistrationHandlers(deps: ConsoleDeps): Handlers<typeof REGISTRATION_OPERATIONS> {
  return {
    previewMint: async ({ wallet }, { params: { mint } }) => ({
      status: 200,
      body: await deps.work.run('previews', wallet, () => previewMint(deps, mint)),
    }),

    trySchema: async ({ wallet }, { body }) => ({ status: 200, body: await trySchema(deps, wallet, body) }),

    createRegistration: async ({ wallet, address: network }, { body }) => ({
      status: 200,
      body: await createRegistration(deps, { wallet, network }, body),
    }),

    confirmRegistration: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await deps.work.run('registrations', wallet, () =>
        confirmRegistration(deps, wallet, params.registrationId, body.signedTransaction),
      ),
    }),
  };
}
