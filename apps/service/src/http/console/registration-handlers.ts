import type { REGISTRATION_OPERATIONS } from '@flywheel/api';
import { previewMint } from '../../projects/preview-mint.ts';
import { confirmRegistration, createRegistration } from '../../projects/register.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** From a mint to a project. */
export function createRegistrationHandlers(deps: ConsoleDeps): Handlers<typeof REGISTRATION_OPERATIONS> {
  return {
    previewMint: async (_session, { params: { mint } }) => ({ status: 200, body: await previewMint(deps, mint) }),

    createRegistration: async ({ wallet }, { body }) => ({
      status: 200,
      body: await createRegistration(deps, wallet, body),
    }),

    confirmRegistration: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await confirmRegistration(deps, wallet, params.registrationId, body.signedTransaction),
    }),
  };
}
