import type { CONSOLE_OPERATIONS, PROOF_OPERATIONS } from '@flywheel/api';
import { checkProof } from '../../proofs/check-proof.ts';
import { readVault } from '../../proofs/read-vault.ts';
import type { Handlers } from '../operations/handlers.ts';
import { createCompanyHandlers, createPolicyHandlers } from './company-handlers.ts';
import type { ConsoleDeps } from './deps.ts';
import { createIdentityHandlers } from './identity-handlers.ts';
import { createProjectBatchHandlers } from './project-batch-handlers.ts';
import { createKeyHandlers, createProjectHandlers, createRegistrationHandlers } from './project-handlers.ts';
import { createTreasuryHandlers } from './treasury-handlers.ts';
import { createWebhookHandlers } from './webhook-handlers.ts';

/** Handlers of the operations that the console and `flywheel register` use. */
export function createConsoleHandlers(deps: ConsoleDeps): Handlers<typeof CONSOLE_OPERATIONS> {
  return {
    ...createIdentityHandlers(deps),
    ...createRegistrationHandlers(deps),
    ...createProjectHandlers(deps),
    ...createKeyHandlers(deps),
    ...createProjectBatchHandlers(deps),
    ...createTreasuryHandlers(deps),
    ...createWebhookHandlers(deps),
    ...createProofHandlers(deps),
    ...createCompanyHandlers(deps),
    ...createPolicyHandlers(deps),
  };
}

/** Public operations: checking a proof and reading a vault need no session. */
function createProofHandlers(deps: ConsoleDeps): Handlers<typeof PROOF_OPERATIONS> {
  return {
    checkProof: async ({ address }, { body }) => ({
      status: 200,
      body: await deps.work.run('proof checks', address, () => checkProof(deps, body)),
    }),
    getVault: async (_context, { params: { address } }) => ({ status: 200, body: await readVault(deps, address) }),
  };
}
