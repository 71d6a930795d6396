import { type ApprovalMode, COMPANY_OPERATIONS, type PauseRequest } from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Who decides wants to see what waits, soon after it does. */
const COMPANY_EVERY_MS = 10_000;

/** How the service stands: the operator’s balance, what waits, what is stuck. */
export const companyQuery = queryOptions({
  queryKey: ['company', 'overview'],
  queryFn: () => call(COMPANY_OPERATIONS.getCompany, {}),
  refetchInterval: COMPANY_EVERY_MS,
});

/** The batches that wait for a person of the company. */
export const waitingBatchesQuery = queryOptions({
  queryKey: ['company', 'waiting'],
  queryFn: () => call(COMPANY_OPERATIONS.listWaitingBatches, {}),
  refetchInterval: COMPANY_EVERY_MS,
});

/** Every project. */
export const companyProjectsQuery = queryOptions({
  queryKey: ['company', 'projects'],
  queryFn: () => call(COMPANY_OPERATIONS.listCompanyProjects, {}),
});

/** The jobs that have not ended. */
export const jobsQuery = queryOptions({
  queryKey: ['company', 'jobs'],
  queryFn: () => call(COMPANY_OPERATIONS.listJobs, {}),
  refetchInterval: COMPANY_EVERY_MS,
});

/** Who did what, newest first. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ['company', 'audit'],
  initialPageParam: '',
  queryFn: ({ pageParam: cursor }) => call(COMPANY_OPERATIONS.listAudit, { query: cursor === '' ? {} : { cursor } }),
  getNextPageParam: ({ nextCursor }) => nextCursor,
});

/** Checking everything again reads and simulates on the chain. */
const APPROVE_TIMEOUT_MS = 60_000;

/** Approves a batch for the company; it is executed at once. */
export function approveBatch(batchId: string) {
  return call(COMPANY_OPERATIONS.approveBatch, { params: { batchId }, body: {} }, { timeoutMs: APPROVE_TIMEOUT_MS });
}

/** Ends a batch for the company, with a reason that its project is told. */
export function rejectBatch(batchId: string, reason: string) {
  return call(COMPANY_OPERATIONS.rejectBatch, { params: { batchId }, body: { reason } });
}

/** Who approves a project’s batches for the company: the service, or a person. */
export function changeApprovalMode(projectId: string, approvalMode: ApprovalMode) {
  return call(COMPANY_OPERATIONS.changeApprovalMode, { params: { projectId }, body: { approvalMode } });
}

/** @param projectId null for all projects. */
export function pause(projectId: string | null, body: PauseRequest) {
  return projectId === null
    ? call(COMPANY_OPERATIONS.pauseAll, { body })
    : call(COMPANY_OPERATIONS.pauseProject, { params: { projectId }, body });
}

/** Has a job begin now. */
export function retryJob(jobId: string) {
  return call(COMPANY_OPERATIONS.retryJob, { params: { jobId }, body: {} });
}
