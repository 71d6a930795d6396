import * as z from 'zod';
import { BatchEvent, lastEventId } from './batch-events.ts';
import type { Operation } from './operation.ts';
import { DEFAULT_BATCHES_PAGE_SIZE, pageCursor, pageLimit } from './page.ts';
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
  idParam,
  PreviewBatchResponse,
} from './schemas.ts';

const batchId = idParam.describe('Id of the batch, from the response of init.');

/** Holds a thousand pipelines of two kilobytes. The interface sets no bound. */
export const MAX_PIPELINES_BODY_BYTES = 2 * 1024 * 1024;

/** URL of the service that `npm start` runs. */
export const LOCAL_SERVICE_URL = 'http://127.0.0.1:4000';

/**
 * Seconds that the answer of execute or cancel may wait for the end of the batch. Proxies close a silent connection
 * after a minute or two.
 */
export const DEFAULT_WAIT_SECONDS = 30;
/** Most seconds that a request may ask the answer to wait. */
export const MAX_WAIT_SECONDS = 120;

/** Errors of a request whose pipelines do not compile, or cannot be checked. */
const PIPELINE_ERRORS = [
  'ERR_FLYWHEEL_NO_INSTRUCTIONS',
  'ERR_FLYWHEEL_ACTIONS_EMPTY',
  'ERR_FLYWHEEL_INVALID_ACTION',
  'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
  'ERR_FLYWHEEL_PIPELINE_TOO_BIG',
  'ERR_KEY_SCOPES_UNAUTHORIZED',
  'ERR_SCHEMA_CHECK_UNAVAILABLE',
] as const;

/** The contract under `/v1`. It may be extended, never changed. */
export const OPERATIONS = {
  initBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/init',
    tag: 'Batches',
    summary: 'Initialize a batch',
    description:
      'Compiles pipelines and creates a batch that awaits approval. Each pipeline gets a proof memo prepended and must fit into one transaction. Returns the approval transaction for the project’s wallet to sign. A repeated request with the same idempotency key returns the same batch.',
    authentication: 'apiKey',
    rateLimit: 'init',
    headers: z.object({
      'x-idempotency-key': idParam.describe(
        'Created by the client, one per batch: a request is processed at most once.',
      ),
    }),
    body: InitBatchRequest,
    maxBodyBytes: MAX_PIPELINES_BODY_BYTES,
    responses: { 200: { description: 'The batch and the approval transaction to sign.', schema: InitBatchResponse } },
    errors: [
      ...PIPELINE_ERRORS,
      'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED',
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'ERR_TOO_MANY_OPEN_BATCHES',
      'ERR_CAP_REACHED',
      'ERR_RECIPIENT_HELD_BACK',
      'ERR_ROTATION_OPEN',
      'ERR_PROJECT_NOT_ADMITTED',
      'ERR_POLICY_REFUSED',
      'ERR_POLICY_CAP_REACHED',
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
      'Takes the same body as init and stores nothing. An invalid request gets the same error as from init. Everything that depends on current state (limits, funds, recipients’ accounts, a simulation of each pipeline) is listed in `problems`, all at once.',
    authentication: 'apiKey',
    rateLimit: 'preview',
    body: InitBatchRequest,
    maxBodyBytes: MAX_PIPELINES_BODY_BYTES,
    responses: {
      200: { description: 'The result that init and execute would have now.', schema: PreviewBatchResponse },
    },
    errors: [
      ...PIPELINE_ERRORS,
      'ERR_TOO_MANY_AT_ONCE',
      'ERR_PROJECT_NOT_ADMITTED',
      'ERR_OPERATOR_UNFUNDED',
      'ERR_NODE_UNAVAILABLE',
    ],
    fallback: 'ERR_INTERNAL',
  },
  executeBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/execute',
    tag: 'Batches',
    summary: 'Execute a batch',
    description: `Checks the signed approval, adds the company’s approval, and executes every pipeline. Waits up to \`Prefer: wait=SECONDS\` (default ${DEFAULT_WAIT_SECONDS}, maximum ${MAX_WAIT_SECONDS}). If the batch has not ended by then, the response is 202 and execution continues. A repeated request never executes twice.`,
    authentication: 'apiKey',
    rateLimit: 'execute',
    headers: z.object({
      prefer: z.string().optional().describe('RFC 7240, e.g. `wait=60`. Other preferences are ignored.'),
    }),
    body: ExecuteBatchRequest,
    responses: {
      200: {
        description: 'The batch has ended. Its status is FAILED if it failed on chain.',
        schema: ExecuteBatchResponse,
      },
      202: { description: 'Execution continues; poll `Location`.', schema: ExecuteBatchPending },
    },
    errors: [
      'ERR_BATCH_NOT_FOUND',
      'ERR_SIGNED_TX_INVALID',
      'ERR_VAULT_UNDERFUNDED',
      'ERR_BATCH_WOULD_FAIL',
      'ERR_BATCH_NOT_EXECUTABLE',
      'ERR_PAUSED',
      'ERR_OPERATOR_UNFUNDED',
      'ERR_TOO_MANY_AT_ONCE',
    ],
    fallback: 'ERR_BATCH_EXECUTE_FAILED',
  },
  cancelBatch: {
    method: 'POST',
    path: '/v1/flywheel/batch/{batchId}/cancel',
    tag: 'Batches',
    summary: 'Cancel a batch',
    description:
      'A batch whose execution has not started ends FAILED at once, and its amounts no longer count against the daily limits. A batch that is being executed ends after the bundle in flight has settled; pipelines executed until then stay executed and are counted. Waits like execute.',
    authentication: 'apiKey',
    rateLimit: 'execute',
    headers: z.object({ prefer: z.string().optional().describe('RFC 7240, e.g. `wait=60`.') }),
    params: z.object({ batchId }),
    responses: {
      200: { description: 'The batch has ended.', schema: CancelBatchResponse },
      202: { description: 'The cancellation continues; poll `Location`.', schema: ExecuteBatchPending },
    },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_BATCH_NOT_CANCELLABLE', 'ERR_NODE_UNAVAILABLE'],
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
      cursor: pageCursor,
      limit: pageLimit(DEFAULT_BATCHES_PAGE_SIZE, 'batches'),
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
      'The newest batch that has not ended. If all have ended: the newest that ended within the last 30 s. Otherwise `null`, which is a normal result.',
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
    description: 'A batch of another project gets the same response as one that does not exist.',
    authentication: 'apiKey',
    rateLimit: 'get',
    params: z.object({ batchId }),
    query: z.object({
      include: z
        .string()
        .regex(
          /^(pipelines|approval|ledger|rest)(,(pipelines|approval|ledger|rest))*$/,
          'must be pipelines, approval, ledger or rest, separated by commas',
        )
        .optional()
        .describe(
          'Comma-separated: `pipelines` adds the compiled pipelines, `approval` the current proposalApproveTx, `ledger` the costs, `rest` what a FAILED batch did not execute.',
        ),
    }),
    responses: { 200: { description: 'The batch.', schema: Batch } },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_NODE_UNAVAILABLE'],
    fallback: 'ERR_INTERNAL',
  },
  streamBatchEvents: {
    method: 'GET',
    path: '/v1/flywheel/batch/{batchId}/events',
    tag: 'Status',
    summary: 'Stream a batch’s events',
    description:
      'Server-sent events: all events from the creation of the batch, or those after `Last-Event-ID`, then each event as it happens, without gaps or repeats. A comment every 15 s keeps the connection alive. The stream ends after `batch.closed`, or, for a batch that never came on chain, after its end. It may end earlier: connect again with the id of the last event, as EventSource does by itself.',
    authentication: 'apiKey',
    rateLimit: 'get',
    headers: z.object({ 'last-event-id': lastEventId }),
    params: z.object({ batchId }),
    responses: {
      200: { description: 'Events; `data` is JSON.', schema: BatchEvent, mediaType: 'text/event-stream' },
      204: { description: 'No event follows: the last one was received or dropped.', schema: z.null() },
    },
    errors: ['ERR_BATCH_NOT_FOUND', 'ERR_TOO_MANY_STREAMS'],
    fallback: 'ERR_INTERNAL',
  },
} as const satisfies { readonly [operationId: string]: Operation };

export type OperationId = keyof typeof OPERATIONS;
