import type { KEY_OPERATIONS } from '@flywheel/api';
import { createKey, listKeys, revokeKey, rotateKey } from '../../projects/keys.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** A project's API keys. */
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

    revokeKey: async ({ wallet }, { params }) => ({
      status: 200,
      body: await revokeKey(deps, wallet, params.projectId, params.keyId),
    }),
  };
}
