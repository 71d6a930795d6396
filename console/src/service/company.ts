import type { ApprovalMode, PauseRequest } from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Who decides wants to see what waits, soon after it does. */
const COMPANY_EVERY_MS = 10_000;

/** How the service stands: the operator’s balance, what waits, what is stuck. */
export const companyQuery = queryOptions({
  queryKey: ['company', 'overview'],
  queryFn: () => call('getCompany', {}),
  refetchInterval: COMPANY_EVERY_MS,
});

export const waitingBatchesQuery = queryOptions({
  queryKey: ['company', 'waiting'],
  queryFn: () => call('listWaitingBatches', {}),
  refetchInterval: COMPANY_EVERY_MS,
});

export const companyProjectsQuery = queryOptions({
  queryKey: ['company', 'projects'],
  queryFn: () => call('listCompanyProjects', {}),
});

export const jobsQuery = queryOptions({
  queryKey: ['company', 'jobs'],
  queryFn: () => call('listJobs', {}),
  refetchInterval: COMPANY_EVERY_MS,
});

/** Who did what, newest first. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ['company', 'audit'],
  initialPageParam: '',
  queryFn: ({ pageParam: cursor }) => call('listAudit', { query: cursor === '' ? {} : { cursor } }),
  getNextPageParam: ({ nextCursor }) => nextCursor,
});

/** Checking everything again reads and simulates on the chain. */
const APPROVE_TIMEOUT_MS = 60_000;

export function approveBatch(batchId: string) {
  return call('approveBatch', { params: { batchId }, body: {} }, { timeoutMs: APPROVE_TIMEOUT_MS });
}

export function rejectBatch(batchId: string, reason: string) {
  return call('rejectBatch', { params: { batchId }, body: { reason } });
}

export function changeApprovalMode(projectId: string, approvalMode: ApprovalMode) {
  return call('changeApprovalMode', { params: { projectId }, body: { approvalMode } });
}

/** @param projectId null for all projects. */
export function pause(projectId: string | null, body: PauseRequest) {
  return projectId === null ? call('pauseAll', { body }) : call('pauseProject', { params: { projectId }, body });
}

export function retryJob(jobId: string) {
  return call('retryJob', { params: { jobId }, body: {} });
}
