import * as z from 'zod';
import { AuditPage } from '../console-schemas/audit.ts';
import {
  ApprovalModeRequest,
  CompanyOverview,
  CompanyProjects,
  CompanyVerdict,
  JobList,
  Pause,
  PauseRequest,
  RejectRequest,
  RetriedJob,
  WaitingBatches,
} from '../console-schemas/company.ts';
import { ProjectSettings } from '../console-schemas/project.ts';
import { givenId } from '../given-id.ts';
import type { Operation } from '../operation.ts';
import { COMPANY } from './access.ts';
import { page, projectParams } from './params.ts';

const batchId = z.object({ batchId: givenId });

/** For the wallets that COMPANY_OPERATORS lists. */
export const COMPANY_OPERATIONS = {
  getCompany: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company',
    summary: 'Read how the service stands',
    description: 'The operator’s balance and runway, nonces, what waits and what is stuck.',
    responses: { 200: { description: 'The state of things.', schema: CompanyOverview } },
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
    summary: 'List the batches that wait for the company',
    description: 'Their wallets have approved; the company’s approval is a person’s.',
    responses: { 200: { description: 'Oldest first.', schema: WaitingBatches } },
    errors: [],
  },
  approveBatch: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/batches/{batchId}/approve',
    summary: 'Approve a batch for the company',
    description: 'Everything is checked again first; then the batch is executed. Repeating does nothing more.',
    params: batchId,
    body: z.strictObject({}),
    responses: { 200: { description: 'Approved.', schema: CompanyVerdict } },
    errors: [
      'ERR_BATCH_NOT_FOUND',
      'ERR_BATCH_NOT_WAITING',
      'ERR_OWN_BATCH',
      'ERR_SIGNED_TX_INVALID',
      'ERR_VAULT_UNDERFUNDED',
      'ERR_BATCH_WOULD_FAIL',
    ],
  },
  rejectBatch: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/batches/{batchId}/reject',
    summary: 'Reject a batch for the company',
    description: 'It ends FAILED with the reason; its limits are given back.',
    params: batchId,
    body: RejectRequest,
    responses: { 200: { description: 'Rejected.', schema: CompanyVerdict } },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_WAITING'],
  },
  changeApprovalMode: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/approval-mode',
    summary: 'Change how the company approves a project’s batches',
    description:
      'Made manual, nothing is signed from then on that nobody has approved. Made automatic, what waits for a person waits on.',
    params: projectParams,
    body: ApprovalModeRequest,
    responses: { 200: { description: 'The settings since.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  pauseProject: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/pause',
    summary: 'Pause a project, or let it go on',
    description: 'While paused, init and execute are refused and nothing more of its batches is sent.',
    params: projectParams,
    body: PauseRequest,
    responses: { 200: { description: 'As it is since.', schema: Pause } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  pauseAll: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/pause',
    summary: 'Pause every project, or let them go on',
    description: 'Projects that are paused by themselves stay so.',
    body: PauseRequest,
    responses: { 200: { description: 'As it is since.', schema: Pause } },
    errors: [],
  },
  listJobs: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/jobs',
    summary: 'List the jobs',
    description: 'Those that have not ended, with why each that is stuck is; without expiries to come.',
    responses: { 200: { description: 'Oldest first.', schema: JobList } },
    errors: [],
  },
  retryJob: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/jobs/{jobId}/retry',
    summary: 'Let a job begin at once',
    description: 'Safe at any moment: a job begins with what the chain says.',
    params: z.object({ jobId: givenId }),
    body: z.strictObject({}),
    responses: { 200: { description: 'It begins again.', schema: RetriedJob } },
    errors: ['ERR_JOB_NOT_FOUND'],
  },
  listAudit: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/audit',
    summary: 'Read the audit log',
    description: 'Who did what, newest first, a page at a time.',
    query: z.object({ projectId: givenId.optional().describe('Only what concerns this project.'), ...page }),
    responses: { 200: { description: 'A page of entries.', schema: AuditPage } },
    errors: [],
  },
} as const satisfies { readonly [operationId: string]: Operation };
