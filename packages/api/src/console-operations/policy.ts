import * as z from 'zod';
import {
  BatchReview,
  PolicyRequest,
  PolicyTrial,
  PolicyTrialRequest,
  ProjectPolicy,
} from '../console-schemas/policy.ts';
import type { Operation } from '../operation.ts';
import { idParam } from '../schemas.ts';
import { COMPANY, POLICY_BODY_BYTES, projectParams, SESSION } from './common.ts';

/** Operations on the rules that the company has for a project. The project's wallet may read them. */
export const POLICY_OPERATIONS = {
  getPolicy: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/policy',
    summary: 'Read the company’s rules for a project',
    description: 'The present version, and how earlier ones differ.',
    params: projectParams,
    responses: { 200: { description: 'The rules.', schema: ProjectPolicy } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  changePolicy: {
    ...COMPANY,
    method: 'PUT',
    path: '/console/api/company/projects/{projectId}/policy',
    summary: 'Set the company’s rules for a project',
    description:
      'The company operator’s wallet has signed the version; a worker verifies and applies it. Stricter rules bind every batch that the company has not signed, looser ones only batches that are created afterwards.',
    params: projectParams,
    body: PolicyRequest,
    maxBodyBytes: POLICY_BODY_BYTES,
    responses: {
      200: { description: 'The new rules.', schema: ProjectPolicy },
      202: { description: 'The present rules: a worker applies the new ones when one runs.', schema: ProjectPolicy },
    },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
  },
  tryPolicy: {
    ...COMPANY,
    rateLimit: 'heavy',
    method: 'POST',
    path: '/console/api/company/projects/{projectId}/policy/try',
    summary: 'Try rules on the batches of the last 30 days',
    description: 'Judges past batches by rules that are not saved. Changes nothing.',
    params: projectParams,
    body: PolicyTrialRequest,
    maxBodyBytes: POLICY_BODY_BYTES,
    responses: { 200: { description: 'What the rules would have done.', schema: PolicyTrial } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  reviewBatch: {
    ...COMPANY,
    method: 'GET',
    path: '/console/api/company/batches/{batchId}/review',
    summary: 'Review a batch before deciding on it',
    description: 'What the batch does, the rules of the company that it meets, and what is unusual about it.',
    params: z.object({ batchId: idParam }),
    responses: { 200: { description: 'The review.', schema: BatchReview } },
    errors: ['ERR_BATCH_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
