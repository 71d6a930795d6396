import * as z from 'zod';
import { AuditPage } from '../console-schemas/audit.ts';
import {
  AdmissionRequest,
  CompanyOverview,
  CompanyProjects,
  CompanyVerdict,
  DecisionSignature,
  JobList,
  Pause,
  PauseRequest,
  ProjectAdmission,
  RejectRequest,
  ResumeRequest,
  RetriedJob,
  TermsRequest,
  WaitingBatches,
} from '../console-schemas/company.ts';
import { ProjectSettings } from '../console-schemas/project.ts';
import type { Operation } from '../operation.ts';
import { idParam } from '../schemas.ts';
import { COMPANY, page, projectParams } from './common.ts';

const batchId = z.object({ batchId: idParam });

const RESUME_DESCRIPTION = 'The company operator’s wallet has signed the resumption; a worker verifies and applies it.';
const RESUME_RESPONSES = {
  200: { description: 'The new state.', schema: Pause },
  202: { description: 'Still paused: a worker resumes it when one runs.', schema: Pause },
} as const;

/** Operations for the wallets that COMPANY_OPERATORS lists. */
export const COMPANY_OPERATIONS = {
  getCompany: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company',
    summary: 'Read the state of the service',
    description: 'Balance and runway of the operator, nonces, pending batches and stuck jobs.',
    responses: { 200: { description: 'State of the service.', schema: CompanyOverview } },
    errors: [],
  },
  listCompanyProjects: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/projects',
    summary: 'List all projects',
    description: 'Newest first.',
    responses: { 200: { description: 'Every project.', schema: CompanyProjects } },
    errors: [],
  },
  listWaitingBatches: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/waiting',
    summary: 'List the batches pending company approval',
    description:
      'The project’s wallet has approved them; a person must approve for the company. If there are more than one answer holds, those of admitted projects come before others, and one of each project before a second of any.',
    query: z.object({ batchId: idParam.optional().describe('Only the batch of this id, if it is pending.') }),
    responses: { 200: { description: 'Oldest first.', schema: WaitingBatches } },
    errors: [],
  },
  approveBatch: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/batches/{batchId}/approve',
    summary: 'Approve a batch for the company',
    description:
      'The company operator’s wallet has signed the decision. Checks everything again, then executes the batch. A repeated request has no further effect.',
    params: batchId,
    body: DecisionSignature,
    responses: { 200: { description: 'Approved.', schema: CompanyVerdict } },
    errors: [
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_WAITING',
      'ERR_OWN_BATCH',
      'ERR_SIGNED_TX_INVALID',
      'ERR_VAULT_UNDERFUNDED',
      'ERR_BATCH_WOULD_FAIL',
      'ERR_OPERATOR_UNFUNDED',
      'ERR_NODE_UNAVAILABLE',
    ],
  },
  rejectBatch: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/batches/{batchId}/reject',
    summary: 'Reject a batch for the company',
    description: 'The batch ends FAILED with the reason, and its amounts no longer count against the daily limits.',
    params: batchId,
    body: RejectRequest,
    responses: { 200: { description: 'Rejected.', schema: CompanyVerdict } },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_WAITING', 'ERR_NODE_UNAVAILABLE'],
  },
  changeTerms: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/terms',
    summary: 'Change what the company approves by itself for a project',
    description:
      'The company operator’s wallet has signed the change; a worker verifies and applies it. After a change to manual, the service signs only what a person has approved. After a change to automatic, batches that are already pending still need a person.',
    params: projectParams,
    body: TermsRequest,
    responses: {
      200: { description: 'The changed settings.', schema: ProjectSettings },
      202: { description: 'The present settings: a worker applies the change when one runs.', schema: ProjectSettings },
    },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
  },
  changeAdmission: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/admission',
    summary: 'Admit a project, or withdraw its admission',
    description:
      'The company operator’s wallet has signed the decision; a worker verifies and applies it. Batches that are set up stay, and can be executed or cancelled.',
    params: projectParams,
    body: AdmissionRequest,
    responses: {
      200: { description: 'The new state.', schema: ProjectAdmission },
      202: { description: 'The present state: a worker applies the decision when one runs.', schema: ProjectAdmission },
    },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
  },
  pauseProject: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/pause',
    summary: 'Pause a project',
    description: 'While a project is paused, init and execute are refused and nothing of its batches is sent.',
    params: projectParams,
    body: PauseRequest,
    responses: { 200: { description: 'The new state.', schema: Pause } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  resumeProject: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/projects/{projectId}/resume',
    summary: 'Resume a project',
    description: `${RESUME_DESCRIPTION} Its jobs continue.`,
    params: projectParams,
    body: ResumeRequest,
    responses: RESUME_RESPONSES,
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
  },
  pauseAll: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/pause',
    summary: 'Pause all projects',
    description: 'Like the pause of each project.',
    body: PauseRequest,
    responses: { 200: { description: 'The new state.', schema: Pause } },
    errors: [],
  },
  resumeAll: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/resume',
    summary: 'Resume all projects',
    description: `${RESUME_DESCRIPTION} Projects that were paused one by one stay paused.`,
    body: ResumeRequest,
    responses: RESUME_RESPONSES,
    errors: ['ERR_NODE_UNAVAILABLE'],
  },
  listJobs: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/jobs',
    summary: 'List jobs',
    description: 'Jobs that have not ended, with the reason for each stuck job. Scheduled expiries are not included.',
    responses: { 200: { description: 'Oldest first.', schema: JobList } },
    errors: [],
  },
  retryJob: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/jobs/{jobId}/retry',
    summary: 'Retry a job now',
    description: 'Safe at any time: a job starts by reading the state on chain.',
    params: z.object({ jobId: idParam }),
    body: z.strictObject({}),
    responses: { 200: { description: 'The job will start now.', schema: RetriedJob } },
    errors: ['ERR_JOB_NOT_FOUND'],
  },
  listAudit: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/audit',
    summary: 'Read the audit log',
    description: 'Who did what, newest first, a page at a time.',
    query: z.object({ projectId: idParam.optional().describe('Only entries of this project.'), ...page }),
    responses: { 200: { description: 'A page of entries.', schema: AuditPage } },
    errors: [],
  },
} as const satisfies { readonly [operationId: string]: Operation };
