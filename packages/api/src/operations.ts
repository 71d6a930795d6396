import * as z from 'zod';
import { BatchEvent, lastEventId } from './batch-events.ts';
import { givenId } from './given-id.ts';
import type { Operation } from './operation.ts';
import { PreviewBatchResponse } from './preview-schemas.ts';
import {
  Batch,
  BatchList,
  BatchStatus,
  CancelBatchResponse,
  ExecuteBatchPending,
  ExecuteBatchRequest,
  ExecuteBatchResponse,
  InitBatchRequest,
  InitBatchResponse,
} from './schemas.ts';

const batchId = givenId.describe('Id of the batch, as init answered it.');

/** The contract under `/v1`: additive changes only. */
export const OPERATIONS = {
  initBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/init',
    tag: 'Batches',
    summary: 'Initialize a batch',
    description:
      'Each pipeline gets a proof memo prepended and must fit one blockchain transaction. Answers the approval transaction for the project’s wallet to sign. Repeating a request with the same idempotency key answers the same batch.',
    authentication: 'apiKey',
    rateLimit: 'init',
    headers: z.object({
      'x-idempotency-key': givenId.describe('Made by the client, one per batch: a request is processed at most once.'),
    }),
    body: InitBatchRequest,
    responses: { 200: { description: 'The batch, and its approval to sign.', schema: InitBatchResponse } },
    errors: [
      'ERR_FLYWHEEL_NO_INSTRUCTIONS',
      'ERR_FLYWHEEL_ACTIONS_EMPTY',
      'ERR_FLYWHEEL_INVALID_ACTION',
      'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
      'ERR_FLYWHEEL_PIPELINE_TOO_BIG',
      'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED',
      'ERR_KEY_SCOPES_UNAUTHORIZED',
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'ERR_TOO_MANY_OPEN_BATCHES',
      'ERR_ROTATION_OPEN',
      'ERR_PAUSED',
      'ERR_NONCE_POOL_EMPTY',
    ],
    fallback: 'ERR_BATCH_INIT_FAILED',
  },
  previewBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/preview',
    tag: 'Batches',
    summary: 'Preview a batch',
    description:
      'Takes the body of init and stores nothing. Faults of the request itself are refused as init refuses them; whatever depends on the state of things (limits, funds, recipients’ accounts, a simulation of each pipeline) is listed in `problems`, all of it at once.',
    authentication: 'apiKey',
    rateLimit: 'preview',
    body: InitBatchRequest,
    responses: { 200: { description: 'What init and execute would make of it now.', schema: PreviewBatchResponse } },
    errors: [
      'ERR_FLYWHEEL_NO_INSTRUCTIONS',
      'ERR_FLYWHEEL_ACTIONS_EMPTY',
      'ERR_FLYWHEEL_INVALID_ACTION',
      'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
      'ERR_FLYWHEEL_PIPELINE_TOO_BIG',
      'ERR_KEY_SCOPES_UNAUTHORIZED',
    ],
    fallback: 'ERR_INTERNAL',
  },
  executeBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/execute',
    tag: 'Batches',
    summary: 'Execute a batch',
    description:
      'Checks the signed approval, adds the company’s, and executes every pipeline. Waits up to `Prefer: wait=SECONDS` (30 by default, at most 120); not done by then it answers 202 and goes on. Repeating never executes twice.',
    authentication: 'apiKey',
    rateLimit: 'execute',
    headers: z.object({
      prefer: z.string().optional().describe('RFC 7240, e.g. `wait=60`; anything else is ignored.'),
    }),
    body: ExecuteBatchRequest,
    responses: {
      200: {
        description: 'The batch has ended; a batch that failed on chain has the status FAILED.',
        schema: ExecuteBatchResponse,
      },
      202: { description: 'Execution goes on; poll `Location`.', schema: ExecuteBatchPending },
    },
    errors: [
      'ERR_BATCH_NOT_FOUND',
      'ERR_SIGNED_TX_INVALID',
      'ERR_VAULT_UNDERFUNDED',
      'ERR_BATCH_WOULD_FAIL',
      'ERR_BATCH_NOT_EXECUTABLE',
      'ERR_PAUSED',
    ],
    fallback: 'ERR_BATCH_EXECUTE_FAILED',
  },
  cancelBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/{batchId}/cancel',
    tag: 'Batches',
    summary: 'Cancel a batch',
    description:
      'A batch whose execution has not begun ends FAILED at once and its limits are given back; one in the midst of it ends when the bundle in flight has landed, with what was executed counted. Nothing of it is ever executed again. Waits like execute.',
    authentication: 'apiKey',
    rateLimit: 'execute',
    headers: z.object({ prefer: z.string().optional().describe('RFC 7240, e.g. `wait=60`.') }),
    params: z.object({ batchId }),
    responses: {
      200: { description: 'The batch has ended.', schema: CancelBatchResponse },
      202: { description: 'The cancellation goes on; poll `Location`.', schema: ExecuteBatchPending },
    },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_CANCELLABLE'],
    fallback: 'ERR_INTERNAL',
  },
  listBatches: {
    method: 'GET',
    path: '/v1/flywheel/batches',
    tag: 'Status',
    summary: 'List batches',
    description: 'Newest first, a page at a time.',
    authentication: 'apiKey',
    rateLimit: 'get',
    query: z.object({
      status: BatchStatus.optional().describe('Only batches of this status.'),
      cursor: z.string().max(64).optional().describe('`nextCursor` of the page before.'),
      limit: z
        .string()
        .regex(/^([1-9]\d?|100)$/, 'must be a number from 1 to 100')
        .optional()
        .describe('How many to answer; 20 by default.'),
    }),
    responses: { 200: { description: 'A page of batches.', schema: BatchList } },
    errors: [],
    fallback: 'ERR_INTERNAL',
  },
  getCurrentBatch: {
    method: 'GET',
    path: '/v1/flywheel/batch/current',
    tag: 'Status',
    summary: 'Read the current batch',
    description:
      'The newest batch that is not final; only if there is none, the newest that ended within the last 30 s; else `null`, which is a normal result.',
    authentication: 'apiKey',
    rateLimit: 'current',
    responses: { 200: { description: 'The current batch, or null.', schema: Batch.nullable() } },
    errors: [],
    fallback: 'ERR_BATCH_CURRENT_FAILED',
  },
  getBatch: {
    method: 'GET',
    path: '/v1/flywheel/batch/{batchId}',
    tag: 'Status',
    summary: 'Read a batch',
    description: 'Another project’s batch answers exactly like one that does not exist.',
    authentication: 'apiKey',
    rateLimit: 'get',
    params: z.object({ batchId }),
    query: z.object({
      include: z
        .string()
        .regex(
          /^(pipelines|approval|ledger)(,(pipelines|approval|ledger))*$/,
          'must be of pipelines, approval and ledger, joined by commas',
        )
        .optional()
        .describe(
          '`pipelines` adds the compiled pipelines, `approval` the current proposalApproveTx, `ledger` what it cost; comma-separated.',
        ),
    }),
    responses: { 200: { description: 'The batch.', schema: Batch } },
    errors: ['ERR_BATCH_NOT_FOUND'],
    fallback: 'ERR_INTERNAL',
  },
  streamBatchEvents: {
    method: 'GET',
    path: '/v1/flywheel/batch/{batchId}/events',
    tag: 'Status',
    summary: 'Stream a batch’s events',
    description:
      'Server-sent events: every one from the batch’s beginning, or those after `Last-Event-ID`, then each as it happens, none twice and none left out. A comment every 15 s keeps the connection alive. The stream ends after `batch.closed`, and now and then before: connect again with the id of the last event, as EventSource does by itself.',
    authentication: 'apiKey',
    rateLimit: 'get',
    headers: z.object({ 'last-event-id': lastEventId }),
    params: z.object({ batchId }),
    responses: {
      200: { description: 'Events; `data` is JSON.', schema: BatchEvent, mediaType: 'text/event-stream' },
      204: { description: 'That was the last event: there is nothing more to follow.', schema: z.null() },
    },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_TOO_MANY_STREAMS'],
    fallback: 'ERR_INTERNAL',
  },
} as const satisfies { readonly [operationId: string]: Operation };

export type OperationId = keyof typeof OPERATIONS;
