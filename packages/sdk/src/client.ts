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
  /** The project's API key, sent as `x-service-api-key`. */
  readonly apiKey: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface InitOptions extends CallOptions {
  /** UUID; a new one by default. Pass your own to repeat a request after a crash of your process. */
  readonly idempotencyKey?: string;
}

export interface ExecuteOptions extends CallOptions {
  /** Time that the service may hold its answer, 0 to 120 seconds; 30 by default. */
  readonly waitSeconds?: number;
}

export interface GetBatchOptions extends CallOptions {
  /** `pipelines` adds the compiled pipelines, `approval` the current `proposalApproveTx`, `ledger` the cost. */
  readonly include?: readonly ('pipelines' | 'approval' | 'ledger')[];
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
const DEFAULT_WAIT_SECONDS = 30;
/** The service's largest page. */
const MAX_PAGE = 100;

/**
 * Creates a client of the service. Every call may throw a FlywheelError. A call whose answer was lost, or that met a rate
 * limit or an outage, is tried up to four times. That is safe: init carries an idempotency key, and execute never executes
 * twice.
 *
 * @example
 * const client = createFlywheelClient({ url: 'http://127.0.0.1:4000', apiKey });
 * const { batch, proposalApproveTx } = await client.initBatch({ pipelines });
 */
export function createFlywheelClient({ apiKey, ...options }: FlywheelClientOptions) {
  const connection: Connection = { ...options, headers: { ...options.headers, 'x-service-api-key': apiKey } };

  /**
   * Sends any operation that answers JSON, with its parts as the API names them. Every operation may be repeated safely.
   */
  async function request<Id extends Exclude<OperationId, 'streamBatchEvents'>>(
    operationId: Id,
    parts: OperationRequest<(typeof OPERATIONS)[Id]> & RequestParts,
    sendOptions: Omit<SendOptions, 'repeatable'> = {},
  ): Promise<OperationReply<(typeof OPERATIONS)[Id]>> {
    return sendRequest(connection, OPERATIONS[operationId], parts, { ...sendOptions, repeatable: true });
  }

  /** Reads a page of the project's batches, newest first. */
  async function listBatches({ status, cursor, limit, signal }: ListBatchesOptions = {}): Promise<BatchList> {
    const query = { status, cursor, limit: limit === undefined ? undefined : String(limit) };
    const reply = await request('listBatches', { query }, signal ? { signal } : {});
    return reply.body;
  }

  return {
    request,

    /** Compiles pipelines and creates a batch that needs approval. */
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

    /** Checks pipelines and estimates their cost without creating a batch. */
    async previewBatch(input: InitBatchInput, { signal }: CallOptions = {}): Promise<PreviewBatchResponse> {
      const isText = typeof input === 'string';
      const reply = await request(
        'previewBatch',
        { body: isText ? { pipelines: [] } : input },
        { ...(isText ? { bodyText: input } : {}), ...(signal ? { signal } : {}) },
      );
      return reply.body;
    },

    /** Executes an approved batch. An answer without `result` means that the execution continues: poll `getBatch`. */
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
     * Cancels an open batch. Pipelines that were executed stay executed. If the status of the answer is not final, a bundle
     * is still in flight: poll `getBatch`.
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

    /** Iterates over all batches of the project, newest first, one page per request. */
    async *allBatches(options: Omit<ListBatchesOptions, 'cursor'> = {}): AsyncGenerator<Batch, void, undefined> {
      let page = await listBatches({ limit: MAX_PAGE, ...options });
      yield* page.batches;
      while (page.nextCursor !== undefined) {
        page = await listBatches({ limit: MAX_PAGE, ...options, cursor: page.nextCursor });
        yield* page.batches;
      }
    },

    /**
     * Streams the events of a batch from its beginning, or after a known event. Each event comes once and none is lost,
     * also when the connection breaks. The stream ends after `batch.closed`; leave the loop to end it earlier.
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

    /** Reads the current batch of the key's token; null if there is none, which is normal. */
    async getCurrentBatch({ signal }: CallOptions = {}): Promise<Batch | null> {
      const reply = await request('getCurrentBatch', {}, signal ? { signal } : {});
      return reply.body;
    },
  };
}

export type FlywheelClient = ReturnType<typeof createFlywheelClient>;

/**
 * Derives an idempotency key from the parts that identify a piece of work: a UUID (RFC 9562, version 8) from their SHA-256.
 * Work that is reported twice then makes one batch, and you need not store the key.
 *
 * @example
 * await runBatch(client, pipelines, { wallet, idempotencyKey: await idempotencyKeyOf('purchase', orderId) });
 */
export async function idempotencyKeyOf(...parts: readonly string[]): Promise<string> {
  // JSON keeps the parts apart: ('a', 'bc') is not ('ab', 'c').
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(parts)));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const variant = VARIANTS.charAt(Number.parseInt(hex.charAt(16), 16) % VARIANTS.length);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The hex digits whose first two bits are 10, as RFC 9562 requires. */
const VARIANTS = '89ab';
