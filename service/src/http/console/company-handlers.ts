import { COMPANY_OPERATIONS, type CompanyVerdict } from '@flywheel/api';
import { approveBatch } from '../../company/approve-batch.ts';
import { pauseAll, pauseProject } from '../../company/pause.ts';
import { rejectBatch } from '../../company/reject-batch.ts';
import type { BatchWithoutPipelines } from '../../model/batch.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { notYet } from './not-yet.ts';

/** What the company’s operators see and decide. */
export function createCompanyHandlers(deps: ConsoleDeps): Handlers<typeof COMPANY_OPERATIONS> {
  return {
    ...notYet(COMPANY_OPERATIONS),

    approveBatch: async ({ wallet }, { params }) => ({
      status: 200,
      body: presentVerdict(await approveBatch(deps, wallet, params.batchId.toLowerCase())),
    }),

    rejectBatch: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: presentVerdict(await rejectBatch(deps, wallet, params.batchId.toLowerCase(), body.reason)),
    }),

    pauseProject: async ({ wallet }, { params, body }) => {
      await pauseProject(deps, wallet, params.projectId.toLowerCase(), body);
      return { status: 200, body: { isPaused: body.isPaused } };
    },

    pauseAll: async ({ wallet }, { body }) => {
      await pauseAll(deps, wallet, body);
      return { status: 200, body: { isPaused: body.isPaused } };
    },
  };
}

function presentVerdict({ id: batchId, status }: BatchWithoutPipelines): CompanyVerdict {
  return { batchId, status };
}
