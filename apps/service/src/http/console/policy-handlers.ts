import type { POLICY_OPERATIONS } from '@flywheel/api';
import { changePolicy } from '../../company/changes.ts';
import { readProjectPolicy, tryPolicy } from '../../company/policies.ts';
import { reviewBatch } from '../../company/review-batch.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

/** Handlers of the operations on the company's rules. */
export function createPolicyHandlers(deps: ConsoleDeps): Handlers<typeof POLICY_OPERATIONS> {
  return {
    getPolicy: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readProjectPolicy(deps, wallet, params.projectId),
    }),

    changePolicy: async ({ wallet }, { params: { projectId }, body }) => {
      const state = await changePolicy(deps, wallet, projectId, body);
      return { status: state === 'applied' ? 200 : 202, body: await readProjectPolicy(deps, wallet, projectId) };
    },

    tryPolicy: async ({ wallet }, { params: { projectId }, body }) => ({
      status: 200,
      body: await tryPolicy(deps, wallet, projectId, body.policy),
    }),

    reviewBatch: async (_context, { params: { batchId } }) => ({
      status: 200,
      body: await reviewBatch(deps, batchId),
    }),
  };
}
