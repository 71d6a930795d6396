import type { TREASURY_OPERATIONS } from '@flywheel/api';
import { requireOwnProject } from '../../projects/access.ts';
import { withdraw } from '../../treasury/withdraw.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

/** What leaves the vault, and who decides over it. */
export function createTreasuryHandlers(deps: ConsoleDeps): Handlers<typeof TREASURY_OPERATIONS> {
  return {
    withdraw: async ({ wallet }, { headers, params, body }) => {
      const project = await requireOwnProject(deps, wallet, params.projectId.toLowerCase());
      const idempotencyKey = headers['x-idempotency-key'].toLowerCase();
      const { batch, warnings, replayed } = await withdraw(deps, { project, idempotencyKey, body });
      return {
        status: 200,
        body: { batchId: batch.id, warnings: warnings.map(({ message }) => message) },
        ...(replayed && { headers: { 'idempotency-replayed': 'true' } }),
      };
    },
  };
}
