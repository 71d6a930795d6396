import * as z from 'zod';
import { ApprovalToSign, BatchDetail, BatchPage, BatchProgress, ExecuteRequest } from '../console-schemas/batch.ts';
import { batchIndexParam } from '../console-schemas/values.ts';
import type { Operation } from '../operation.ts';
import { OPERATIONS } from '../operations.ts';
import { BatchStatus, idParam } from '../schemas.ts';
import { batchParams, HEAVY, page, projectParams, SESSION } from './common.ts';

const { initBatch, previewBatch, executeBatch, cancelBatch, streamBatchEvents } = OPERATIONS;

/** Operations on a project's batches by its signed-in wallet. Company operators may read every project's batches. */
export const BATCH_OPERATIONS = {
  listProjectBatches: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches',
    summary: 'List a project’s batches',
    description: 'Newest first, a page at a time.',
    params: projectParams,
    query: z.object({
      status: BatchStatus.optional().describe('Only batches of this status.'),
      waitsFor: z.enum(['wallet', 'company']).optional().describe('Only batches that need the approval of this party.'),
      batchIndex: batchIndexParam.optional().describe('Only the batch of this batch index.'),
      batchId: idParam.optional().describe('Only the batch of this id.'),
      ...page,
    }),
    responses: { 200: { description: 'A page of batches.', schema: BatchPage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getProjectBatch: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}',
    summary: 'Read all details of a batch',
    description: 'Timeline, pipelines, bundles, results, ledger, and the failure if there is one.',
    params: batchParams,
    responses: { 200: { description: 'The batch.', schema: BatchDetail } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND'],
  },
  getBatchProgress: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}/progress',
    summary: 'Read the progress of a batch',
    description: 'All details without the pipelines, which never change. Cheap to poll.',
    params: batchParams,
    responses: { 200: { description: 'Progress of the batch.', schema: BatchProgress } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND'],
  },
  initProjectBatch: {
    ...initBatch,
    ...HEAVY,
    path: '/console/api/projects/{projectId}/batches',
    params: projectParams,
    errors: [...initBatch.errors, 'ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
    fallback: initBatch.fallback,
  },
  previewProjectBatch: {
    ...previewBatch,
    ...HEAVY,
    path: '/console/api/projects/{projectId}/batches/preview',
    params: projectParams,
    errors: [...previewBatch.errors, 'ERR_PROJECT_NOT_FOUND'],
  },
  getApproval: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}/approval',
    summary: 'Read the approval to sign',
    description: 'Rebuilt if its nonce has advanced. Sign it when the batch is FINALIZED.',
    params: batchParams,
    responses: { 200: { description: 'The approval.', schema: ApprovalToSign } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_EXECUTABLE', 'ERR_NODE_UNAVAILABLE'],
  },
  executeProjectBatch: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/projects/{projectId}/batches/{batchId}/execute',
    summary: 'Submit the signed approval',
    description: 'Checks the approval and the batch, and responds at once. Execution continues in the background.',
    params: batchParams,
    body: ExecuteRequest,
    responses: { 200: { description: 'Accepted.', schema: BatchProgress } },
    errors: [...executeBatch.errors, 'ERR_PROJECT_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
    fallback: executeBatch.fallback,
  },
  cancelProjectBatch: {
    ...cancelBatch,
    ...HEAVY,
    path: '/console/api/projects/{projectId}/batches/{batchId}/cancel',
    params: batchParams,
    errors: [...cancelBatch.errors, 'ERR_PROJECT_NOT_FOUND'],
  },
  streamProjectBatchEvents: {
    ...streamBatchEvents,
    ...SESSION,
    path: '/console/api/projects/{projectId}/batches/{batchId}/events',
    params: batchParams,
    errors: [...streamBatchEvents.errors, 'ERR_PROJECT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
