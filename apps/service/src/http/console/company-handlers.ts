import type { COMPANY_OPERATIONS, CompanyVerdict, JobSummary, POLICY_OPERATIONS, WaitingBatch } from '@flywheel/api';
import { approveBatch, listWaiting, rejectBatch, type WaitingItem } from '../../company/approvals.ts';
import { changeAdmission, changePolicy, changeTerms, resume } from '../../company/changes.ts';
import { listJobs, type QueuedJob, readCompany, retryJob } from '../../company/operations.ts';
import { pauseAll, pauseProject } from '../../company/pause.ts';
import { readProjectPolicy, tryPolicy } from '../../company/policies.ts';
import { reviewBatch } from '../../company/review-batch.ts';
import type { BatchWithoutPipelines } from '../../model/batch.ts';
import { readHistory } from '../../projects/history.ts';
import { readSettings } from '../../projects/settings.ts';
import { listProjects } from '../../projects/summaries.ts';
import { pageParams, presentNext } from '../batches/present.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';
import { presentRow } from './present-batch.ts';

/** Handlers of the operations for the company's operators. */
export function createCompanyHandlers(deps: ConsoleDeps): Handlers<typeof COMPANY_OPERATIONS> {
  return {
    getCompany: async () => ({ status: 200, body: await readCompany(deps) }),

    listCompanyProjects: async () => ({ status: 200, body: { projects: await listProjects(deps, null) } }),

    listWaitingBatches: async (_context, { query: { batchId = null } }) => ({
      status: 200,
      body: { batches: (await listWaiting(deps, { batchId })).map(presentWaiting) },
    }),

    approveBatch: async ({ wallet }, { params, body }) => {
      const { batch, approvals } = await approveBatch(deps, wallet, params.batchId, body);
      return { status: 200, body: { ...presentVerdict(batch), ...(approvals && { approvals }) } };
    },

    rejectBatch: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: presentVerdict(await rejectBatch(deps, wallet, params.batchId, body)),
    }),

    changeTerms: async ({ wallet }, { params: { projectId }, body }) => {
      const state = await changeTerms(deps, wallet, projectId, body);
      return { status: STATUS[state], body: await readSettings(deps, wallet, projectId) };
    },

    changeAdmission: async ({ wallet }, { params: { projectId }, body }) => {
      const state = await changeAdmission(deps, wallet, projectId, body);
      return { status: STATUS[state], body: { isAdmitted: (body.terms !== null) === (state === 'applied') } };
    },

    pauseProject: async ({ wallet }, { params, body }) => {
      await pauseProject(deps, wallet, params.projectId, body);
      return { status: 200, body: { isPaused: true } };
    },

    resumeProject: async ({ wallet }, { params, body }) => {
      const state = await resume(deps, wallet, params.projectId, body);
      return { status: STATUS[state], body: { isPaused: state === 'stored' } };
    },

    pauseAll: async ({ wallet }, { body }) => {
      await pauseAll(deps, wallet, body);
      return { status: 200, body: { isPaused: true } };
    },

    resumeAll: async ({ wallet }, { body }) => {
      const state = await resume(deps, wallet, null, body);
      return { status: STATUS[state], body: { isPaused: state === 'stored' } };
    },

    listJobs: async () => ({ status: 200, body: { jobs: (await listJobs(deps)).map(presentJob) } }),

    retryJob: async ({ wallet }, { params: { jobId } }) => {
      await retryJob(deps, wallet, jobId);
      return { status: 200, body: { jobId } };
    },

    listAudit: async (_context, { query: { projectId = null, ...query } }) => {
      const page = await readHistory(deps, projectId, pageParams(query));
      return { status: 200, body: { entries: [...page.rows], ...presentNext(page) } };
    },
  };
}

/** Handlers of the operations on the company's rules. */
export function createPolicyHandlers(deps: ConsoleDeps): Handlers<typeof POLICY_OPERATIONS> {
  return {
    getPolicy: async ({ wallet }, { params }) => ({
      status: 200,
      body: await readProjectPolicy(deps, wallet, params.projectId),
    }),

    changePolicy: async ({ wallet }, { params: { projectId }, body }) => {
      const state = await changePolicy(deps, wallet, projectId, body);
      return { status: STATUS[state], body: await readProjectPolicy(deps, wallet, projectId) };
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

/** Status of the answer to a change. */
const STATUS = { applied: 200, stored: 202 } as const;

function presentWaiting(batch: WaitingItem): WaitingBatch {
  const { projectId, mint: mintAddress, symbol, decimals, askedAt, partialApproval } = batch;
  const row = presentRow(batch, { token: { decimals } });
  const approvals = partialApproval && { approvals: partialApproval.approvals };
  return {
    ...row,
    projectId,
    mintAddress,
    ...(symbol !== null && { symbol }),
    decimals,
    requestedAt: askedAt.toISOString(),
    ...approvals,
  };
}

function presentVerdict({ id: batchId, status }: BatchWithoutPipelines): CompanyVerdict {
  return { batchId, status };
}

function presentJob(job: QueuedJob): JobSummary {
  return {
    id: job.id,
    type: job.type,
    state: job.state,
    ...(job.problem !== null && { problem: job.problem }),
    ...(job.batchId !== null && { batchId: job.batchId }),
    ...(job.batchIndex !== null && { batchIndex: job.batchIndex }),
    ...(job.batchStatus !== null && { batchStatus: job.batchStatus }),
    ...(job.projectId !== null && { projectId: job.projectId }),
    failedAttempts: job.failedAttempts,
    ...(job.error !== null && { error: job.error }),
    dateCreated: job.createdAt.toISOString(),
    dueAt: job.dueAt.toISOString(),
  };
}
