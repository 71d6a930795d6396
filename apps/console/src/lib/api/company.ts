import {
  type AdmissionRequest,
  askEveryShard,
  COMPANY_OPERATIONS,
  type DecisionSignature,
  type PauseRequest,
  type ResumeRequest,
  readShard,
  SHARD_HEADER,
  type ShardFailure,
  type TermsRequest,
  type WaitingBatch,
} from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call, callForReply } from './call.ts';

/** Operators should see a pending batch soon after it arrives. */
const COMPANY_EVERY_MS = 10_000;

/** Reads the state of the service: the operator’s balance, pending batches, stuck jobs, and the shard of which it is. */
export const companyQuery = queryOptions({
  queryKey: ['company', 'overview'],
  queryFn: async () => {
    const reply = await callForReply(COMPANY_OPERATIONS.getCompany, {});
    return { ...reply.body, ...readShard(reply) };
  },
  refetchInterval: COMPANY_EVERY_MS,
});

/** The batches that wait for a person of the company. */
export const waitingBatchesQuery = queryOptions({
  queryKey: ['company', 'waiting'],
  queryFn: readQueue,
  refetchInterval: COMPANY_EVERY_MS,
});

interface Queue {
  /** Those of all shards that have answered, oldest first. */
  readonly batches: readonly WaitingBatch[];
  readonly missing: readonly ShardFailure[];
}

async function readQueue(): Promise<Queue> {
  const ask = (headers: { readonly [name: string]: string }) =>
    callForReply(COMPANY_OPERATIONS.listWaitingBatches, { headers });
  const { answers, failures: missing } = await askEveryShard(ask);
  const batches = answers.flatMap(({ answer }) => answer.body.batches);
  return { batches: batches.toSorted((a, b) => a.requestedAt.localeCompare(b.requestedAt)), missing };
}

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

/** Reads the audit log, newest first. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ['company', 'audit'],
  initialPageParam: '',
  queryFn: ({ pageParam: cursor }) => call(COMPANY_OPERATIONS.listAudit, { query: cursor === '' ? {} : { cursor } }),
  getNextPageParam: ({ nextCursor }) => nextCursor,
});

/** Checking everything again reads and simulates on the chain. */
const APPROVE_TIMEOUT_MS = 60_000;

/** Approves a batch for the company; it is executed at once. */
export function approveBatch(batchId: string, body: DecisionSignature) {
  return call(COMPANY_OPERATIONS.approveBatch, { params: { batchId }, body }, { timeoutMs: APPROVE_TIMEOUT_MS });
}

/** Rejects a batch for the company, with a reason that its project can read. */
export function rejectBatch(batchId: string, reason: string, signature: DecisionSignature) {
  return call(COMPANY_OPERATIONS.rejectBatch, { params: { batchId }, body: { ...signature, reason } });
}

/** Changes what the company approves by itself for a project; a worker verifies the signature. */
export function changeTerms(projectId: string, body: TermsRequest) {
  return call(COMPANY_OPERATIONS.changeTerms, { params: { projectId }, body });
}

/** Admits a project, or withdraws its admission; a worker verifies the signature. */
export function changeAdmission(projectId: string, body: AdmissionRequest) {
  return call(COMPANY_OPERATIONS.changeAdmission, { params: { projectId }, body });
}

/** The scope of a pause: a project, or all projects of a shard. */
export type Paused =
  | { readonly projectId: string; readonly shard?: undefined }
  | { readonly projectId: null; readonly shard: number };

/** Stops a project, or all of a shard. */
export function pause({ projectId, shard }: Paused, body: PauseRequest) {
  return projectId === null
    ? call(COMPANY_OPERATIONS.pauseAll, { headers: { [SHARD_HEADER]: String(shard) }, body })
    : call(COMPANY_OPERATIONS.pauseProject, { params: { projectId }, body });
}

/** Ends a pause; a worker verifies the signature. */
export function resume({ projectId, shard }: Paused, body: ResumeRequest) {
  return projectId === null
    ? call(COMPANY_OPERATIONS.resumeAll, { headers: { [SHARD_HEADER]: String(shard) }, body })
    : call(COMPANY_OPERATIONS.resumeProject, { params: { projectId }, body });
}

/** Has a job begin now. */
export function retryJob(jobId: string) {
  return call(COMPANY_OPERATIONS.retryJob, { params: { jobId }, body: {} });
}
