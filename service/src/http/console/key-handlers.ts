import { KEY_OPERATIONS } from '@flywheel/api';
import { createKey, revokeKey } from '../../projects/keys.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** A project's API keys. */
export function createKeyHandlers(deps: ConsoleDeps): Handlers<typeof KEY_OPERATIONS> {
  return {
    ...notYet(KEY_OPERATIONS),

    createKey: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await createKey(deps, wallet, params.projectId.toLowerCase(), body),
    }),

    revokeKey: async ({ wallet }, { params }) => ({
      status: 200,
      body: await revokeKey(deps, wallet, params.projectId.toLowerCase(), params.keyId.toLowerCase()),
    }),
  };
}
