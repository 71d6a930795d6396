import {
  type Batch,
  type BatchEvent,
  type BatchList,
  type BatchStatus,
  type CancelBatchResponse,
  type ExecuteBatchPending,
  type ExecuteBatchRequest,
  type ExecuteBatchResponse,
  type InitBatchRequest,
  type InitBatchResponse,
  OPERATIONS,
  type OperationId,
  type OperationReply,
  type OperationRequest,
  type PreviewBatchResponse,
} from '@flywheel/api';
import { type Connection, type RequestParts, type SendOptions, sendRequest } from './wire/request.ts';
import { streamEvents } from './wire/stream-events.ts';

export interface FlywheelClientOptions extends Connection {
  /** The project’s API key, sent as `x-service-api-key`. */
  readonly apiKey: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface InitOptions extends CallOptions {
  /** UUID. A fresh one by default; pass your own to repeat a request after a crash of your process. */
  readonly idempotencyKey?: string;
}

export interface ExecuteOptions extends CallOptions {
  /** How long the service may hold the answer, 0 to 120 seconds; its own default is 30. */
  readonly waitSeconds?: number;
}

export interface GetBatchOptions extends CallOptions {
  /** `pipelines` adds the compiled pipelines, `approval` the current `proposalApproveTx`, `ledger` what it cost. */
  readonly include?: readonly ('pipelines' | 'approval' | 'ledger')[];
}

export interface StreamBatchEventsOptions extends CallOptions {
  /** Id of the last event that is known. */
  readonly after?: string;
}

export interface ListBatchesOptions extends CallOptions {
  readonly status?: BatchStatus;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
  /** 1 to 100; 20 by default. */
  readonly limit?: number;
}

/** An init request, or its JSON text, which is sent byte for byte. */
export type InitBatchInput = InitBatchRequest | string;

/** Beside the seconds the service was asked to hold the answer. */
const EXECUTE_TIMEOUT_MARGIN_SECONDS = 30;
const DEFAULT_WAIT_SECONDS = 30;
/** What the service answers at most. */
const MAX_PAGE = 100;

/**
 * A client of the service’s operations. Every call may throw a FlywheelError; answers that were lost or refused for a
 * passing reason are asked for again, at most four times, which is safe: init carries an idempotency key, execute never
 * executes twice.
 *
 * @example
 * const client = createFlywheelClient({ url: 'http://127.0.0.1:4000', apiKey });
 * const { batch, proposalApproveTx } = await client.initBatch({ pipelines });
 */
export function createFlywheelClient({ apiKey, ...options }: FlywheelClientOptions) {
  const connection: Connection = { ...options, headers: { ...options.headers, 'x-service-api-key': apiKey } };

  /**
   * Any operation of the table that answers JSON, with its parts as the wire names them. All of them may be repeated
   * safely.
   */
  async function request<Id extends Exclude<OperationId, 'streamBatchEvents'>>(
    operationId: Id,
    parts: OperationRequest<(typeof OPERATIONS)[Id]> & RequestParts,
    sendOptions: Omit<SendOptions, 'repeatable'> = {},
  ): Promise<OperationReply<(typeof OPERATIONS)[Id]>> {
    return sendRequest(connection, OPERATIONS[operationId], parts, { ...sendOptions, repeatable: true });
  }

  /** A page of the project’s batches, newest first. */
  async function listBatches({ status, cursor, limit, signal }: ListBatchesOptions = {}): Promise<BatchList> {
    const query = { status, cursor, limit: limit === undefined ? undefined : String(limit) };
    const reply = await request('listBatches', { query }, signal ? { signal } : {});
    return reply.body;
  }

  return {
    request,

    /** Compiles pipelines and creates a batch awaiting approval. */
    async initBatch(input: InitBatchInput, { idempotencyKey, signal }: InitOptions = {}): Promise<InitBatchResponse> {
      const headers = { 'x-idempotency-key': idempotencyKey ?? crypto.randomUUID() };
      const isText = typeof input === 'string';
      const reply = await request(
        'initBatch',
        { headers, body: isText ? { pipelines: [] } : input },
        { ...(isText ? { bodyText: input } : {}), ...(signal ? { signal } : {}) },
      );
      return reply.body;
    },

    /** What a batch would take and what stands in its way; stores nothing. */
    async previewBatch(input: InitBatchInput, { signal }: CallOptions = {}): Promise<PreviewBatchResponse> {
      const isText = typeof input === 'string';
      const reply = await request(
        'previewBatch',
        { body: isText ? { pipelines: [] } : input },
        { ...(isText ? { bodyText: input } : {}), ...(signal ? { signal } : {}) },
      );
      return reply.body;
    },

    /** Executes an approved batch. An answer without `result` means that it goes on: poll `getBatch`. */
    async executeBatch(
      body: ExecuteBatchRequest,
      { waitSeconds, signal }: ExecuteOptions = {},
    ): Promise<ExecuteBatchResponse | ExecuteBatchPending> {
      const headers = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` };
      const timeoutMs = ((waitSeconds ?? DEFAULT_WAIT_SECONDS) + EXECUTE_TIMEOUT_MARGIN_SECONDS) * 1_000;
      const reply = await request('executeBatch', { headers, body }, { timeoutMs, ...(signal ? { signal } : {}) });
      return reply.body;
    },

    /**
     * Gives an open batch up: what was executed stays, nothing more is. An answer whose status is not final means that a
     * bundle is still in flight: poll `getBatch`.
     */
    async cancelBatch(
      batchId: string,
      { waitSeconds, signal }: ExecuteOptions = {},
    ): Promise<CancelBatchResponse | ExecuteBatchPending> {
      const headers = waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` };
      const timeoutMs = ((waitSeconds ?? DEFAULT_WAIT_SECONDS) + EXECUTE_TIMEOUT_MARGIN_SECONDS) * 1_000;
      const options = { timeoutMs, ...(signal ? { signal } : {}) };
      const reply = await request('cancelBatch', { headers, params: { batchId } }, options);
      return reply.body;
    },

    listBatches,

    /** Every batch of the project, newest first, asked for a page at a time. */
    async *allBatches(options: Omit<ListBatchesOptions, 'cursor'> = {}): AsyncGenerator<Batch, void, undefined> {
      let page = await listBatches({ limit: MAX_PAGE, ...options });
      yield* page.batches;
      while (page.nextCursor !== undefined) {
        page = await listBatches({ limit: MAX_PAGE, ...options, cursor: page.nextCursor });
        yield* page.batches;
      }
    },

    /**
     * Follows a batch event by event, from its beginning or from after one that is known, each once and none left out,
     * over as many connections as it takes. Ends after `batch.closed`; leave the loop to end it before.
     *
     * @example
     * for await (const { type, status } of client.streamBatchEvents(batch.id)) console.log(type, status);
     */
    streamBatchEvents(batchId: string, { after, signal }: StreamBatchEventsOptions = {}): AsyncGenerator<BatchEvent> {
      return streamEvents(connection, { batchId, after, signal });
    },

    /** Reads one batch. */
    async getBatch(batchId: string, { include = [], signal }: GetBatchOptions = {}): Promise<Batch> {
      const query = include.length === 0 ? {} : { include: include.join(',') };
      const reply = await request('getBatch', { params: { batchId }, query }, signal ? { signal } : {});
      return reply.body;
    },

    /** Reads the current batch of the key’s token; null when there is none, which is normal. */
    async getCurrentBatch({ signal }: CallOptions = {}): Promise<Batch | null> {
      const reply = await request('getCurrentBatch', {}, signal ? { signal } : {});
      return reply.body;
    },
  };
}

export type FlywheelClient = ReturnType<typeof createFlywheelClient>;
