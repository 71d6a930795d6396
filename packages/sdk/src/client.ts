import {
  API_KEY_HEADER,
  type Batch,
  type BatchEvent,
  type BatchList,
  type BatchStatus,
  type CancelBatchResponse,
  DEFAULT_WAIT_SECONDS,
  type ExecuteBatchPending,
  type ExecuteBatchRequest,
  type ExecuteBatchResponse,
  type InitBatchRequest,
  type InitBatchResponse,
  MAX_PAGE_SIZE,
  OPERATIONS,
  type OperationId,
  type OperationReply,
  type OperationRequest,
  type PreviewBatchResponse,
} from '@flywheel/api';
import { FlywheelError, isFlywheelError, nameBatch } from './errors.ts';
import { type Connection, type RequestParts, requireUrl, type SendOptions, sendRequest } from './wire/request.ts';
import { streamEvents } from './wire/stream-events.ts';

export interface FlywheelClientOptions extends Connection {
  /** The project's API key, sent as `x-service-api-key`. */
  readonly apiKey: string;
}

/** Options of every call. `signal` aborts it. */
export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. A request that was sent may still take effect. */
  readonly signal?: AbortSignal;
}

export interface InitOptions extends CallOptions {
  /** UUID; a new one by default. Pass your own to repeat a request after a crash of your process. */
  readonly idempotencyKey?: string;
  /** Called with true if an earlier request with the same key has created the batch, before the call returns. */
  readonly onReplay?: (isReplayed: boolean) => void;
}

/** Options of `executeBatch` and `cancelBatch`. */
export interface ExecuteOptions extends CallOptions {
  /** Time that the service may hold its answer, 0 to 120 seconds; 30 by default. */
  readonly waitSeconds?: number;
}

export interface GetBatchOptions extends CallOptions {
  /**
   * `pipelines` adds the compiled pipelines, `approval` the current `proposalApproveTx`, `ledger` the cost, `rest` what a
   * FAILED batch did not execute, as bodies for init.
   */
  readonly include?: readonly ('pipelines' | 'approval' | 'ledger' | 'rest')[];
}

export interface StreamBatchEventsOptions extends CallOptions {
  /** Id of the last event that you know; the stream continues after it. */
  readonly after?: string;
}

export interface ListBatchesOptions extends CallOptions {
  readonly status?: BatchStatus;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
  /** 1 to 100; 20 by default. */
  readonly limit?: number;
}

/** An init request, or its JSON text, which is sent byte for byte. */
export type InitBatchInput = InitBatchRequest | string;

/** Added to the seconds that the service may hold its answer. */
const EXECUTE_TIMEOUT_MARGIN_SECONDS = 30;

/**
 * Creates a client of the service. Every call may throw a FlywheelError. A call whose answer was lost, or that met a rate
 * limit or an outage, is tried up to four times. That is safe: init carries an idempotency key, and execute never executes
 * twice.
 * @throws RangeError if the URL is neither one of http or https nor a path, or has a user or password, or if HTTP cannot send
 * the API key.
 *
 * @example
 * const client = createFlywheelClient({ url: 'http://127.0.0.1:4000', apiKey });
 * const { batch, proposalApproveTx } = await client.initBatch({ pipelines });
 */
export function createFlywheelClient({ apiKey, ...options }: FlywheelClientOptions) {
  requireUrl(options);
  try {
    new Headers({ [API_KEY_HEADER]: apiKey });
  } catch {
    // The error of the platform may quote the key.
    throw new RangeError('The API key has characters that HTTP cannot send.');
  }
  const connection: Connection = { ...options, headers: { ...options.headers, [API_KEY_HEADER]: apiKey } };

  /**
   * Sends any operation that answers JSON, with its parts as the API names them. Every operation may be repeated safely.
   */
  async function request<Id extends Exclude<OperationId, 'streamBatchEvents'>>(
    operationId: Id,
    parts: OperationRequest<(typeof OPERATIONS)[Id]> & RequestParts,
    sendOptions: Omit<SendOptions, 'repeatable'> = {},
  ): Promise<OperationReply<(typeof OPERATIONS)[Id]>> {
    try {
      return await sendRequest(connection, OPERATIONS[operationId], parts, { ...sendOptions, repeatable: true });
    } catch (error) {
      throw nameBatch(error, batchNamesOf(parts));
    }
  }

  /** Reads a page of the project's batches, newest first. */
  async function listBatches({ status, cursor, limit, signal }: ListBatchesOptions = {}): Promise<BatchList> {
    const query = { status, cursor, limit: limit === undefined ? undefined : String(limit) };
    const reply = await request('listBatches', { query }, { signal });
    return reply.body;
  }

  return {
    request,

    /** Compiles pipelines and creates a batch that needs approval. */
    async initBatch(
      input: InitBatchInput,
      { idempotencyKey, onReplay, signal }: InitOptions = {},
    ): Promise<InitBatchResponse> {
      const headers = { 'x-idempotency-key': idempotencyKey ?? crypto.randomUUID() };
      const isText = typeof input === 'string';
      const reply = await request(
        'initBatch',
        { headers, body: isText ? { pipelines: [] } : input },
        { bodyText: isText ? input : undefined, signal },
      );
      onReplay?.(reply.headers?.['idempotency-replayed'] === 'true');
      return reply.body;
    },

    /**
     * Returns true if an idempotency key has created a batch, without creating one: it sends an init request without
     * pipelines, which the service refuses in one way for a key that is new and in another for a key that is used.
     */
    async isKeyUsed(idempotencyKey: string, { signal }: CallOptions = {}): Promise<boolean> {
      const parts = { headers: { 'x-idempotency-key': idempotencyKey }, body: { pipelines: [] } };
      try {
        await request('initBatch', parts, { signal });
      } catch (error) {
        if (isFlywheelError(error, 'ERR_FLYWHEEL_NO_INSTRUCTIONS')) return false;
        if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return true;
        throw error;
      }
      throw new FlywheelError({
        code: 'ERR_UNEXPECTED_REPLY',
        message: 'The service accepted an init request without pipelines.',
        idempotencyKey,
      });
    },

    /** Checks pipelines and estimates their cost without creating a batch. */
    async previewBatch(input: InitBatchInput, { signal }: CallOptions = {}): Promise<PreviewBatchResponse> {
      const isText = typeof input === 'string';
      const reply = await request(
        'previewBatch',
        { body: isText ? { pipelines: [] } : input },
        { bodyText: isText ? input : undefined, signal },
      );
      return reply.body;
    },

    /** Executes an approved batch. An answer without `result` means that the execution continues: poll `getBatch`. */
    async executeBatch(
      body: ExecuteBatchRequest,
      { waitSeconds, signal }: ExecuteOptions = {},
    ): Promise<ExecuteBatchResponse | ExecuteBatchPending> {
      const { headers, timeoutMs } = preferWait(waitSeconds);
      const reply = await request('executeBatch', { headers, body }, { timeoutMs, signal });
      return reply.body;
    },

    /**
     * Cancels an open batch. Pipelines that were executed stay executed. If the status of the answer is not final, a bundle
     * is still in flight: poll `getBatch`.
     */
    async cancelBatch(
      batchId: string,
      { waitSeconds, signal }: ExecuteOptions = {},
    ): Promise<CancelBatchResponse | ExecuteBatchPending> {
      const { headers, timeoutMs } = preferWait(waitSeconds);
      const reply = await request('cancelBatch', { headers, params: { batchId } }, { timeoutMs, signal });
      return reply.body;
    },

    listBatches,

    /** Iterates over all batches of the project, newest first, one page per request. */
    async *allBatches(options: Omit<ListBatchesOptions, 'cursor'> = {}): AsyncGenerator<Batch, void, undefined> {
      let page = await listBatches({ limit: MAX_PAGE_SIZE, ...options });
      yield* page.batches;
      while (page.nextCursor !== undefined) {
        page = await listBatches({ limit: MAX_PAGE_SIZE, ...options, cursor: page.nextCursor });
        yield* page.batches;
      }
    },

    /**
     * Streams the events of a batch from its beginning, or after a known event. Each event comes once and none is lost,
     * also when the connection breaks. The stream ends after `batch.closed`, or after the end of a batch that never came
     * on chain; leave the loop to end it earlier.
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
      const reply = await request('getBatch', { params: { batchId }, query }, { signal });
      return reply.body;
    },

    /** Reads the current batch of the key's token; null if there is none, which is normal. */
    async getCurrentBatch({ signal }: CallOptions = {}): Promise<Batch | null> {
      const reply = await request('getCurrentBatch', {}, { signal });
      return reply.body;
    },
  };
}

/** The client that `createFlywheelClient` returns. */
export type FlywheelClient = ReturnType<typeof createFlywheelClient>;

/** Asks the service to hold its answer, and gives it a margin to do so. */
function preferWait(waitSeconds: number | undefined) {
  return {
    headers: waitSeconds === undefined ? {} : { prefer: `wait=${waitSeconds}` },
    timeoutMs: ((waitSeconds ?? DEFAULT_WAIT_SECONDS) + EXECUTE_TIMEOUT_MARGIN_SECONDS) * 1_000,
  };
}

/** Names the batch of a request for the error of a failed call: what the caller needs to repeat or examine it. */
function batchNamesOf({ headers, params, body }: RequestParts) {
  const batchId = params?.batchId ?? (body instanceof Object && 'batchId' in body ? body.batchId : undefined);
  const idempotencyKey = headers?.['x-idempotency-key'];
  return {
    ...(typeof batchId === 'string' && { batchId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}
