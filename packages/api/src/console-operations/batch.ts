import * as z from 'zod';
import { ApprovalToSign, BatchDetail, BatchPage, BatchProgress, ExecuteRequest } from '../console-schemas/batch.ts';
import type { Operation } from '../operation.ts';
import { OPERATIONS } from '../operations.ts';
import { BatchStatus } from '../schemas.ts';
import { SESSION } from './access.ts';
import { batchParams, page, projectParams } from './params.ts';

const { initBatch, previewBatch, executeBatch, cancelBatch, streamBatchEvents } = OPERATIONS;

/** The batches of a project, by the wallet that is signed in; the company's operators may read every project's. */
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
      waitsFor: z.enum(['wallet', 'company']).optional().describe('Only batches that wait for this one’s approval.'),
      ...page,
    }),
    responses: { 200: { description: 'A page of batches.', schema: BatchPage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getProjectBatch: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}',
    summary: 'Read everything of a batch',
    description: 'Its timeline, pipelines, bundles, results, ledger, and what went wrong.',
    params: batchParams,
    responses: { 200: { description: 'The batch.', schema: BatchDetail } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND'],
  },
  getBatchProgress: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}/progress',
    summary: 'Read what moves of a batch',
    description: 'All but its pipelines, which never change: for those who ask often.',
    params: batchParams,
    responses: { 200: { description: 'How far it has come.', schema: BatchProgress } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND'],
  },
  initProjectBatch: {
    ...initBatch,
    ...SESSION,
    path: '/console/api/projects/{projectId}/batches',
    params: projectParams,
    errors: [...initBatch.errors, 'ERR_PROJECT_NOT_FOUND'],
    fallback: initBatch.fallback,
  },
  previewProjectBatch: {
    ...previewBatch,
    ...SESSION,
    path: '/console/api/projects/{projectId}/batches/preview',
    params: projectParams,
    errors: [...previewBatch.errors, 'ERR_PROJECT_NOT_FOUND'],
  },
  getApproval: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/batches/{batchId}/approval',
    summary: 'Read the approval to sign',
    description: 'Rebuilt if its nonce has moved. Sign it once the batch is FINALIZED.',
    params: batchParams,
    responses: { 200: { description: 'The approval.', schema: ApprovalToSign } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_EXECUTABLE'],
  },
  executeProjectBatch: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/batches/{batchId}/execute',
    summary: 'Hand in the signed approval',
    description: 'Checks it and the batch, and answers at once: the work goes on behind it.',
    params: batchParams,
    body: ExecuteRequest,
    responses: { 200: { description: 'Taken.', schema: BatchProgress } },
    errors: [...executeBatch.errors, 'ERR_PROJECT_NOT_FOUND'],
    fallback: executeBatch.fallback,
  },
  cancelProjectBatch: {
    ...cancelBatch,
    ...SESSION,
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
