import {
  type AdmissionRequest,
  type AnswersOfShards,
  askEveryShard,
  COMPANY_OPERATIONS,
  type CompanyOfShards,
  type DecisionSignature,
  describeShardFailure,
  headersFor,
  type InShard,
  type JobSummary,
  mergeJobs,
  mergeOverviews,
  mergeProjects,
  mergeWaiting,
  type PauseRequest,
  type ProjectSummary,
  type ResumeRequest,
  readPageOfShards,
  type ShardFailure,
  type TermsRequest,
  type WaitingBatch,
} from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call, callForReply } from './call.ts';

/** Operators should see a pending batch soon after it arrives. */
const COMPANY_EVERY_MS = 10_000;

/** The part of each answer of the desk that is about shards. */
interface OfShards {
  /** The shards that have not answered. */
  readonly missing: readonly ShardFailure[];
  /** True if the service has several shards. */
  readonly isSharded: boolean;
}

export interface CompanyFigures extends OfShards, CompanyOfShards {}

/** Reads the state of the service: the operator’s balance, pending batches, stuck jobs. */
export const companyQuery = queryOptions({
  queryKey: ['company', 'overview'],
  queryFn: async (): Promise<CompanyFigures> => {
    const found = await askEveryShard((headers) => callForReply(COMPANY_OPERATIONS.getCompany, { headers }));
    return { ...mergeOverviews(found.answers), ...describeShards(found) };
  },
  refetchInterval: COMPANY_EVERY_MS,
});

function describeShards({ answers, failures: missing }: AnswersOfShards<unknown>): OfShards {
  return { missing, isSharded: answers.length + missing.length > 1 };
}

/** The keys that the service uses now in the shard of a project, which is the one that answered last. */
export function serviceKeysQuery(projectId: string) {
  return queryOptions({
    queryKey: ['company', 'keys', projectId],
    queryFn: async () => {
      const { company, operator } = await call(COMPANY_OPERATIONS.getCompany, {});
      return { company, operator: operator.address };
    },
  });
}

/** The batches that wait for a person of the company, oldest first. */
export const waitingBatchesQuery = queryOptions({
  queryKey: ['company', 'waiting'],
  queryFn: async (): Promise<OfShards & { readonly batches: readonly WaitingBatch[] }> => {
    const found = await askEveryShard((headers) =>
      callForReply(COMPANY_OPERATIONS.listWaitingBatches, { headers, query: {} }),
    );
    return { batches: mergeWaiting(found.answers), ...describeShards(found) };
  },
  refetchInterval: COMPANY_EVERY_MS,
});

/** Every project, newest first. */
export const companyProjectsQuery = queryOptions({
  queryKey: ['company', 'projects'],
  queryFn: async (): Promise<OfShards & { readonly projects: readonly InShard<ProjectSummary>[] }> => {
    const found = await askEveryShard((headers) => callForReply(COMPANY_OPERATIONS.listCompanyProjects, { headers }));
    return { projects: mergeProjects(found.answers), ...describeShards(found) };
  },
  refetchInterval: ({ state }) => untilComplete(state.data),
});

/** A list that is not read again by itself is, as long as a shard is missing in it. */
function untilComplete(data: Pick<OfShards, 'missing'> | undefined): number | false {
  return data !== undefined && data.missing.length > 0 && COMPANY_EVERY_MS;
}

/** The jobs that have not ended, oldest first. */
export const jobsQuery = queryOptions({
  queryKey: ['company', 'jobs'],
  queryFn: async (): Promise<OfShards & { readonly jobs: readonly InShard<JobSummary>[] }> => {
    const found = await askEveryShard((headers) => callForReply(COMPANY_OPERATIONS.listJobs, { headers }));
    return { jobs: mergeJobs(found.answers), ...describeShards(found) };
  },
  refetchInterval: COMPANY_EVERY_MS,
});

/** Entries of a page of the audit log. */
const AUDIT_PAGE = 50;

/** Reads the audit log, newest first. */
export const auditQuery = infiniteQueryOptions({
  queryKey: ['company', 'audit'],
  initialPageParam: '',
  queryFn: ({ pageParam }) =>
    readPageOfShards(
      (headers, cursor) => callForReply(COMPANY_OPERATIONS.listAudit, { headers, query: cursor ? { cursor } : {} }),
      { limit: AUDIT_PAGE, ...(pageParam !== '' && { cursor: pageParam }) },
    ),
  getNextPageParam: ({ nextCursor }) => nextCursor,
  refetchInterval: ({ state }) => untilComplete(state.data?.pages.find(({ missing }) => missing.length > 0)),
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

/** Pauses a project. */
export function pauseProject(projectId: string, body: PauseRequest) {
  return call(COMPANY_OPERATIONS.pauseProject, { params: { projectId }, body });
}

/** Ends the pause of a project; a worker verifies the signature. */
export function resumeProject(projectId: string, body: ResumeRequest) {
  return call(COMPANY_OPERATIONS.resumeProject, { params: { projectId }, body });
}

/** Pauses all projects of every shard. @throws Error that names the shards that have not paused them. */
export async function pauseAll(body: PauseRequest): Promise<void> {
  const { failures } = await askEveryShard((headers) => callForReply(COMPANY_OPERATIONS.pauseAll, { headers, body }));
  requireEveryShard(failures);
}

/** Ends the pause of all projects of a shard; a worker verifies the signature. */
export function resumeAll(shard: number, body: ResumeRequest) {
  return call(COMPANY_OPERATIONS.resumeAll, { headers: headersFor(shard), body });
}

/** @throws Error that names the shards which have not done what all were asked for. */
export function requireEveryShard(failures: readonly ShardFailure[]): void {
  if (failures.length === 0) return;
  const reasons = failures.map((failure) => describeShardFailure(failure)).join(' ');
  throw new Error(`${reasons} The other shards have done it. Retry.`);
}

/** Retries a job now. */
export function retryJob({ id: jobId, shard }: Pick<InShard<JobSummary>, 'id' | 'shard'>) {
  return call(COMPANY_OPERATIONS.retryJob, { params: { jobId }, headers: headersFor(shard), body: {} });
}
