import { type CompanyPolicy, POLICY_OPERATIONS, type PolicyRequest } from '@flywheel/api';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The company’s rules for a project, with its versions. */
export function policyQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'policy'],
    queryFn: () => call(POLICY_OPERATIONS.getPolicy, { params: { projectId } }),
  });
}

/** What an operator should know about a batch before deciding on it. */
export function batchReviewQuery(batchId: string) {
  return queryOptions({
    queryKey: ['company', 'review', batchId],
    queryFn: () => call(POLICY_OPERATIONS.reviewBatch, { params: { batchId } }),
  });
}

/** Sets the company’s rules for a project; a worker verifies the signature. */
export function changePolicy(projectId: string, body: PolicyRequest) {
  return call(POLICY_OPERATIONS.changePolicy, { params: { projectId }, body });
}

/** A month of batches takes seconds. */
const TRY_TIMEOUT_MS = 60_000;

/** Long enough to read the result and sign the rules, without another run meanwhile. */
const TRIAL_STALE_MS = 60_000;

/** Judges the batches of the last 30 days by rules that are not saved. */
export function policyTrialQuery(projectId: string, policy: CompanyPolicy) {
  return queryOptions({
    queryKey: ['project', projectId, 'policy', 'trial', policy],
    queryFn: ({ signal }) => {
      const request = { params: { projectId }, body: { policy } };
      return call(POLICY_OPERATIONS.tryPolicy, request, { timeoutMs: TRY_TIMEOUT_MS, repeatable: true, signal });
    },
    staleTime: TRIAL_STALE_MS,
  });
}
