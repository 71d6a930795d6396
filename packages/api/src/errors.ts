/**
 * Every failure a caller can meet: its HTTP status, what it needs to be said, and the sentence that says it.
 * Four read it: the handlers (`new ApiError(code, context)`), OpenAPI, the SDK, and docs/errors.md.
 */
export const ERRORS = {
  ERR_INVALID_REQUEST: define(400, 'The request is malformed outside of any action.', (c: Fault) => at(c)),
  ERR_FLYWHEEL_NO_INSTRUCTIONS: define(
    400,
    'Compilation yields no instructions.',
    () => 'The batch has no pipelines, so it compiles to no instructions. Send at least one pipeline.',
  ),
  ERR_FLYWHEEL_ACTIONS_EMPTY: define(
    400,
    'A pipeline has no actions.',
    (c: { pipeline: number }) => `pipelines[${c.pipeline}].actions is empty. A pipeline needs at least one action.`,
  ),
  ERR_FLYWHEEL_INVALID_ACTION: define(400, 'An action is invalid or unsupported.', (c: Fault) => at(c)),
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: define(
    400,
    'A pipeline’s type is none the project registered, or its payload does not satisfy the registered schema.',
    (c: Fault) => at(c),
  ),
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: define(
    400,
    'A pipeline does not fit one blockchain transaction.',
    (c: { pipeline: number; problem: string }) => `pipelines[${c.pipeline}] ${c.problem}`,
  ),
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: define(
    400,
    'The batch would exceed the project’s daily limit of burns or airdrops.',
    (c: { kind: 'burn' | 'airdrop'; cap: string; used: string; asked: string; resetsAt: string }) =>
      `The daily ${c.kind} limit is ${c.cap} tokens; ${c.used} are used and this batch asks for ${c.asked}. It resets at ${c.resetsAt}.`,
  ),
  ERR_SIGNED_TX_INVALID: define(
    400,
    'The signed transaction is not the approval of this batch.',
    (c: { problem: string }) => `signedTx: ${c.problem}`,
  ),
  ERR_MINT_UNSUPPORTED: define(
    400,
    'The mint cannot be registered.',
    (c: { mint: string; problem: string }) => `Mint ${c.mint} ${c.problem}`,
  ),
  ERR_UNAUTHORIZED: define(
    401,
    'The API key is missing, malformed, revoked or expired; or the console session is missing or over.',
    (c: { problem: string }) => c.problem,
  ),
  ERR_SIGN_IN_INVALID: define(401, 'The sign-in could not be verified.', (c: { problem: string }) => c.problem),
  ERR_KEY_SCOPES_UNAUTHORIZED: define(
    403,
    'The API key lacks the scope an action needs.',
    (c: { place: string; action: string; scope: string }) =>
      `${c.place}: ${c.action} needs the scope ${c.scope}, which this API key does not carry.`,
  ),
  ERR_COMPANY_ONLY: define(
    403,
    'The wallet that is signed in is no operator of the company.',
    (c: { wallet: string }) => `Wallet ${c.wallet} is none of the company’s operators (COMPANY_OPERATORS).`,
  ),
  ERR_OWN_BATCH: define(
    403,
    'The operator’s own wallet is the project’s: nobody approves for both sides.',
    (c: { batchId: string }) =>
      `Batch ${c.batchId} is of a project of your own wallet. Another operator of the company approves it: nobody does for both sides.`,
  ),
  ERR_KEY_NOT_FOUND: define(404, 'No such API key.', () => 'No project holds this API key.'),
  ERR_TOKEN_NOT_FOUND: define(404, 'The token of the API key is gone.', () => 'The token of this API key is gone.'),
  ERR_FLYWHEEL_NOT_FOUND: define(
    404,
    'No flywheel is associated with the API key.',
    () => 'No flywheel is associated with this API key.',
  ),
  ERR_BATCH_NOT_FOUND: define(404, 'No batch with this id.', (c: { batchId: string }) => `No batch ${c.batchId}.`),
  ERR_PROJECT_NOT_FOUND: define(
    404,
    'No such project of this wallet.',
    (c: { projectId: string }) => `No project ${c.projectId}.`,
  ),
  ERR_REGISTRATION_NOT_FOUND: define(
    404,
    'No such open registration of this wallet.',
    (c: { registrationId: string }) => `No open registration ${c.registrationId}.`,
  ),
  ERR_VAULT_NOT_FOUND: define(
    404,
    'No project has this vault.',
    (c: { address: string }) => `${c.address} is no vault of this service.`,
  ),
  ERR_JOB_NOT_FOUND: define(
    404,
    'No such job that could be retried.',
    (c: { jobId: string }) => `Job ${c.jobId} does not exist, runs, has ended well, or ends a batch on its day.`,
  ),
  ERR_WEBHOOK_NOT_FOUND: define(
    404,
    'No such webhook of this project.',
    (c: { webhookId: string }) => `No webhook ${c.webhookId}.`,
  ),
  ERR_WEBHOOK_DELIVERY_NOT_FOUND: define(
    404,
    'No such delivery of this webhook.',
    (c: { deliveryId: string }) => `No delivery ${c.deliveryId}. Those that are over are kept for 30 days.`,
  ),
  ERR_ROUTE_NOT_FOUND: define(
    404,
    'No such route.',
    (c: { method: string; path: string }) => `No route ${c.method} ${c.path}. The operations are listed at /docs.`,
  ),
  ERR_METHOD_NOT_ALLOWED: define(
    405,
    'The route exists with another method.',
    (c: { method: string; path: string; allow: string }) => `${c.path} takes ${c.allow}, not ${c.method}.`,
  ),
  ERR_BATCH_NOT_EXECUTABLE: define(
    409,
    'The batch ended without any execution being sent.',
    (c: { batchId: string; reason: string }) => `Batch ${c.batchId} can never be executed: ${c.reason}`,
  ),
  ERR_BATCH_NOT_CANCELLABLE: define(
    409,
    'The batch was executed before it could be cancelled.',
    (c: { batchId: string }) => `Batch ${c.batchId} was executed; what is on chain cannot be taken back.`,
  ),
  ERR_ROTATION_OPEN: define(
    409,
    'The project’s wallet or the company’s approver is being replaced.',
    (c: { batchId: string }) =>
      `An approver of this project is being replaced (${c.batchId}), which would make new batches stale. Repeat when that has ended; the console can cancel it.`,
  ),
  ERR_ROTATION_REFUSED: define(
    409,
    'The approver cannot be replaced now.',
    (c: { problem: string }) => `The approver cannot be replaced: ${c.problem}`,
  ),
  ERR_BATCH_NOT_WAITING: define(
    409,
    'The batch does not wait for the company’s approval.',
    (c: { batchId: string; reason: string }) => `Batch ${c.batchId} does not wait for the company: ${c.reason}`,
  ),
  ERR_VAULT_UNDERFUNDED: define(
    409,
    'The vault holds too little; nothing was sent.',
    (c: { problems: readonly string[] }) =>
      `${c.problems.join(' ')} Deposit the rest, then execute again: the approval stays valid.`,
  ),
  ERR_BATCH_WOULD_FAIL: define(
    409,
    'The check before approval found problems; nothing was sent.',
    (c: { problems: readonly string[] }) => `The batch would fail on chain: ${c.problems.join(' ')}`,
  ),
  ERR_REGISTRATION_FAILED: define(
    409,
    'The registration transaction did not land as built.',
    (c: { problem: string }) => `The registration did not go through: ${c.problem}`,
  ),
  ERR_WEBHOOK_DISABLED: define(
    409,
    'The webhook is disabled.',
    (c: { webhookId: string; reason: string | null }) =>
      `Webhook ${c.webhookId} is disabled${c.reason === null ? '.' : `: ${c.reason}`} Enable it first.`,
  ),
  ERR_TOO_MANY_WEBHOOKS: define(
    409,
    'The project has as many webhooks as it may have.',
    (c: { max: number }) => `The project has ${c.max} webhooks, and may have no more. Delete one first.`,
  ),
  ERR_BODY_TOO_LARGE: define(
    413,
    'The body is over 2 MiB.',
    (c: { maxBytes: number }) => `The body is larger than ${c.maxBytes} bytes.`,
  ),
  ERR_UNSUPPORTED_MEDIA_TYPE: define(
    415,
    'The body is not JSON.',
    (c: { given: string }) => `Send Content-Type: application/json, not ${c.given}.`,
  ),
  ERR_DUPLICATE_IDEMPOTENCY_KEY: define(
    422,
    'The idempotency key was used with another body.',
    (c: { idempotencyKey: string }) =>
      `x-idempotency-key ${c.idempotencyKey} was used with another body. Send a new key with a new request.`,
  ),
  ERR_RATE_LIMITED: define(
    429,
    'Too many requests with this API key, wallet or address.',
    (c: { requests: number; seconds: number; retryAfterSeconds: number }) =>
      `More than ${c.requests} requests in ${c.seconds} s. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_TOO_MANY_OPEN_BATCHES: define(
    429,
    'The project has too many open batches or pipelines.',
    (c: { open: number; asked: number; max: number; unit: 'batches' | 'pipelines' | 'withdrawals' }) =>
      `${c.open} ${c.unit} are open and this request adds ${c.asked}; a project may have ${c.max}. Execute the open ones first.`,
  ),
  ERR_TOO_MANY_STREAMS: define(
    429,
    'Too many streams of events are open with this API key or wallet.',
    (c: { open: number; max: number }) =>
      `${c.open} streams of events are open; ${c.max} may be. Close one that is not read any more.`,
  ),
  ERR_INTERNAL: define(500, 'Unforeseen.', () => 'Unforeseen. The log holds the cause under this request’s id.'),
  ERR_BATCH_INIT_FAILED: define(
    500,
    'Compiling the pipelines or initializing the batch failed.',
    () => 'The batch could not be initialized; nothing was stored. Repeat with the same x-idempotency-key.',
  ),
  ERR_BATCH_EXECUTE_FAILED: define(
    500,
    'Executing the batch failed for a reason that is ours.',
    () => 'The execution could not be started or followed. Repeat the request: a batch is never executed twice.',
  ),
  ERR_BATCH_CURRENT_FAILED: define(
    500,
    'Retrieval of the current batch failed.',
    () => 'The current batch could not be retrieved.',
  ),
  ERR_PAUSED: define(
    503,
    'The company has paused this project, or all of them.',
    (c: { isForAll: boolean; reason: string | null }) =>
      `The company has paused ${c.isForAll ? 'all projects' : 'this project'}${c.reason === null ? '.' : `: ${c.reason}`} Nothing is lost; repeat when it goes on.`,
  ),
  ERR_WEBHOOKS_UNAVAILABLE: define(
    503,
    'The service has no key for the secrets of webhooks.',
    () =>
      'This service cannot make secrets for webhooks: its operator has set neither WEBHOOK_KEY nor WEBHOOK_KEY_FILE.',
  ),
  ERR_NONCE_POOL_EMPTY: define(
    503,
    'Every durable nonce is leased; the pool is refilling.',
    (c: { retryAfterSeconds: number }) =>
      `Every durable nonce is in use; the pool is refilling. Try again in ${c.retryAfterSeconds} s.`,
  ),
} as const;

/** A fault and its place in the request, e.g. `pipelines[2].actions[0].amount`. */
export interface Fault {
  readonly place: string;
  readonly problem: string;
}

export type ErrorCode = keyof typeof ERRORS;

/** What a code's sentence needs to know; `void` when nothing. */
export type ErrorContext<Code extends ErrorCode> = Parameters<(typeof ERRORS)[Code]['message']>[0];

type ErrorArguments<Code extends ErrorCode> =
  [] extends Parameters<(typeof ERRORS)[Code]['message']>
    ? [context?: undefined, options?: ErrorOptions]
    : [context: ErrorContext<Code>, options?: ErrorOptions];

/**
 * A failure for the caller: `throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId })`. An unknown code or a missing
 * context does not compile. `cause` is for the log and never reaches the wire.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly context: ErrorContext<Code>;

  constructor(code: Code, ...[context, options]: ErrorArguments<Code>) {
    const { status, message } = ERRORS[code];
    // The tuple type above has proved that `context` is this code's own.
    super((message as (context: unknown) => string)(context), options);
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
    this.context = context as ErrorContext<Code>;
  }
}

/** Narrows to an ApiError, of one code if one is given. */
export function isApiError<Code extends ErrorCode = ErrorCode>(error: unknown, code?: Code): error is ApiError<Code> {
  return error instanceof ApiError && (code === undefined || error.code === code);
}

function define<Parameters extends readonly unknown[]>(
  status: number,
  summary: string,
  message: (...parameters: Parameters) => string,
) {
  return { status, summary, message };
}

function at({ place, problem }: Fault): string {
  return `${place} ${problem}`;
}
