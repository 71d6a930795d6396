import type { PROOF_OPERATIONS } from '@flywheel/api';
import { checkProof } from '../../proofs/check-proof.ts';
import { readVault } from '../../proofs/read-vault.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** What anyone may ask. */
export function createProofHandlers(deps: ConsoleDeps): Handlers<typeof PROOF_OPERATIONS> {
  return {
    checkProof: async (_context, { body }) => ({ status: 200, body: await checkProof(deps, body) }),
    getVault: async (_context, { params: { address } }) => ({ status: 200, body: await readVault(deps, address) }),
  };
}
