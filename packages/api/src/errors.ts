import type { ErrorCode } from './error-codes.ts';
import type { Problem, ReachedCap } from './schemas.ts';

/**
 * The catalogue of errors: for each code its HTTP status, a summary, and a sentence that is built from typed context.
 * Three readers share it: the handlers (`new ApiError(code, context)`), OpenAPI and docs/errors.md.
 */
export const ERRORS = {
  ERR_INVALID_REQUEST: define(
    400,
    'A header, a parameter or a field outside the actions is malformed.',
    (c: RequestIssue) => at(c),
  ),
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
  ERR_FLYWHEEL_INVALID_ACTION: define(400, 'An action is invalid or unsupported.', (c: RequestIssue) => at(c)),
  ERR_FLYWHEEL_INVALID_PROOF_TYPE: define(
    400,
    'The project may not use the pipeline’s type, or the payload does not match the type’s schema.',
    (c: RequestIssue) => at(c),
  ),
  ERR_FLYWHEEL_PIPELINE_TOO_BIG: define(
    400,
    'A pipeline does not fit into one transaction.',
    (c: { pipeline: number; problem: string }) => `pipelines[${c.pipeline}] ${c.problem}`,
  ),
  ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED: define(
    400,
    'The batch would exceed the project’s daily limit of burns or airdrops.',
    (c: {
      kind: 'burn' | 'airdrop';
      cap: string;
      used: string;
      asked: string;
      resetsAt: string;
      retryAfterSeconds: number;
    }) =>
      `The daily ${c.kind} limit is ${c.cap} tokens; ${c.used} are used and this batch needs ${c.asked}. It resets at ${c.resetsAt}.`,
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
    'The API key is missing, malformed, revoked or expired; or the console session is missing or has expired.',
    (c: { problem: string }) => c.problem,
  ),
  ERR_SIGN_IN_INVALID: define(401, 'The sign-in could not be verified.', (c: { problem: string }) => c.problem),
  ERR_KEY_SCOPES_UNAUTHORIZED: define(
    403,
    'The API key does not have the scope that an action needs.',
    (c: { place: string; action: string; scope: string }) =>
      `${c.place}: ${c.action} needs the scope ${c.scope}, which this API key does not have.`,
  ),
  ERR_COMPANY_ONLY: define(
    403,
    'The signed-in wallet is not an operator of the company.',
    (c: { wallet: string }) => `Wallet ${c.wallet} is not one of the company’s operators (COMPANY_OPERATORS).`,
  ),
  ERR_PROJECT_NOT_ADMITTED: define(
    403,
    'The company has not admitted the project, or no longer admits it.',
    (c: { flywheelId: string }) =>
      `The company does not admit this project (flywheel ${c.flywheelId}), so it can create no batches; nothing was stored. Ask the company to admit it, then send the request again.`,
  ),
  ERR_POLICY_REFUSED: define(403, 'The company’s rules for the project do not allow a recipient.', (c: ProblemList) =>
    c.problems.join(' '),
  ),
  ERR_REGISTRATION_CLOSED: define(
    403,
    'The service registers no new projects.',
    () => 'This service registers no new projects now. The wallet has paid nothing. Ask the company that runs it.',
  ),
  ERR_OWN_BATCH: define(
    403,
    'The company operator’s wallet is also the project’s wallet. One wallet cannot approve for both sides.',
    (c: { batchId: string }) =>
      `Batch ${c.batchId} belongs to a project of your own wallet. Another operator of the company must approve it.`,
  ),
  ERR_KEY_NOT_FOUND: define(404, 'The API key does not exist.', () => 'This API key does not exist.'),
  ERR_TOKEN_NOT_FOUND: define(
    404,
    'The token of the API key does not exist.',
    () => 'The token of this API key does not exist any more.',
  ),
  ERR_FLYWHEEL_NOT_FOUND: define(404, 'The API key has no flywheel.', () => 'This API key has no flywheel.'),
  ERR_BATCH_NOT_FOUND: define(
    404,
    'The batch does not exist.',
    (c: { batchId: string }) => `Batch ${c.batchId} does not exist.`,
  ),
  ERR_PROJECT_NOT_FOUND: define(
    404,
    'The wallet has no such project.',
    (c: { projectId: string }) => `Project ${c.projectId} does not exist.`,
  ),
  ERR_REGISTRATION_NOT_FOUND: define(
    404,
    'The wallet has no such open registration.',
    (c: { registrationId: string }) => `Registration ${c.registrationId} does not exist or has ended.`,
  ),
  ERR_VAULT_NOT_FOUND: define(
    404,
    'The address is not a vault of this service.',
    (c: { address: string }) => `${c.address} is not a vault of this service.`,
  ),
  ERR_JOB_NOT_FOUND: define(
    404,
    'The job does not exist, or cannot be retried.',
    (c: { jobId: string }) =>
      `Job ${c.jobId} cannot be retried: it does not exist, is running, has succeeded, or waits for a batch to expire.`,
  ),
  ERR_WEBHOOK_NOT_FOUND: define(
    404,
    'The project has no such webhook.',
    (c: { webhookId: string }) => `Webhook ${c.webhookId} does not exist.`,
  ),
  ERR_WEBHOOK_DELIVERY_NOT_FOUND: define(
    404,
    'The webhook has no such delivery.',
    (c: { deliveryId: string }) => `Delivery ${c.deliveryId} does not exist. Finished ones are kept for some time.`,
  ),
  ERR_ROUTE_NOT_FOUND: define(
    404,
    'The route does not exist.',
    (c: { method: string; path: string }) => `${c.method} ${c.path} does not exist. /docs lists all operations.`,
  ),
  ERR_METHOD_NOT_ALLOWED: define(
    405,
    'The route does not support this method.',
    (c: { method: string; path: string; allow: string }) => `${c.path} supports ${c.allow}, not ${c.method}.`,
  ),
  ERR_BATCH_NOT_EXECUTABLE: define(
    409,
    'The batch ended before anything was executed.',
    (c: { batchId: string; reason: string }) => `Batch ${c.batchId} cannot be executed any more: ${c.reason}`,
  ),
  ERR_BATCH_NOT_CANCELLABLE: define(
    409,
    'The batch was executed before it could be cancelled.',
    (c: { batchId: string }) => `Batch ${c.batchId} was executed. A transaction on chain cannot be undone.`,
  ),
  ERR_RECIPIENT_HELD_BACK: define(
    409,
    'The batch pays a recipient who made an earlier batch fail, and others as well.',
    (c: ProblemList) =>
      `${c.problems.join(' ')} Send the pipelines that pay such a recipient in a separate batch, where they cannot stop the others.`,
  ),
  ERR_ROTATION_OPEN: define(
    409,
    'A member of the project’s multisig (wallet, company approver or operator) is being replaced.',
    (c: { batchId: string }) =>
      `A member of this project’s multisig is being replaced (batch ${c.batchId}), which would make new batches stale. Try again when that batch has ended; you can cancel it in the console.`,
  ),
  ERR_ROTATION_REFUSED: define(
    409,
    'The member of the multisig cannot be replaced now.',
    (c: { problem: string }) => `The member of the multisig cannot be replaced: ${c.problem}`,
  ),
  ERR_BATCH_NOT_WAITING: define(
    409,
    'The batch is not pending company approval.',
    (c: { batchId: string; reason: string }) => `Batch ${c.batchId} is not pending company approval: ${c.reason}`,
  ),
  ERR_VAULT_UNDERFUNDED: define(
    409,
    'The vault does not hold enough; nothing was sent.',
    (c: ProblemList) =>
      `${c.problems.join(' ')} Deposit the missing amount, then execute again: the approval stays valid.`,
  ),
  ERR_BATCH_WOULD_FAIL: define(
    409,
    'The check before approval found errors; nothing was sent.',
    (c: ProblemList) => `The batch would fail on chain: ${c.problems.join(' ')}`,
  ),
  ERR_REGISTRATION_FAILED: define(
    409,
    'The registration transaction did not land as built.',
    (c: { problem: string }) => `The registration failed: ${c.problem}`,
  ),
  ERR_SETTINGS_CHANGED: define(
    409,
    'The settings are not those that the caller has read; nothing was changed.',
    (c: { settings: string }) =>
      `The ${c.settings} were changed since you read them, so nothing was saved. Read them again, then save.`,
  ),
  ERR_WEBHOOK_DISABLED: define(
    409,
    'The webhook is disabled.',
    (c: { webhookId: string; reason: string | null }) =>
      `Webhook ${c.webhookId} is disabled${c.reason === null ? '.' : `: ${c.reason}`} Enable it first.`,
  ),
  ERR_TOO_MANY_WEBHOOKS: define(
    409,
    'The project has the maximum number of webhooks.',
    (c: { max: number }) => `The project has ${c.max} webhooks, which is the maximum. Delete one first.`,
  ),
  ERR_TOO_MANY_KEYS: define(
    409,
    'The project has the maximum number of API keys that work.',
    (c: { max: number }) =>
      `The project has ${c.max} API keys that work, which is the maximum. Revoke one first; it counts for one more minute.`,
  ),
  ERR_BODY_TOO_LARGE: define(
    413,
    'The body is larger than the operation allows: 2 MiB for init and preview, 64 KiB for other operations under `/v1`.',
    (c: { maxBytes: number }) => `The body is larger than ${c.maxBytes} bytes.`,
  ),
  ERR_UNSUPPORTED_MEDIA_TYPE: define(
    415,
    'The body is not JSON, or is compressed.',
    (c: { given: string } | { encoding: string }) =>
      'encoding' in c
        ? `A body may not be compressed. Send it without Content-Encoding: ${c.encoding}.`
        : `Send Content-Type: application/json, not ${c.given}.`,
  ),
  ERR_DUPLICATE_IDEMPOTENCY_KEY: define(
    422,
    'The idempotency key was used with a different body.',
    (c: { idempotencyKey: string }) =>
      `x-idempotency-key ${c.idempotencyKey} was used with a different body. Send a new key with a new request.`,
  ),
  ERR_RATE_LIMITED: define(
    429,
    'Too many requests with this API key, wallet or address, or too many pipelines sent or read.',
    (c: { requests: number; seconds: number; retryAfterSeconds: number; unit?: 'pipelines' }) =>
      `The limit of ${c.requests} ${c.unit ?? 'requests'} in ${c.seconds} s is reached. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_TOO_MANY_OPEN_BATCHES: define(
    429,
    'The project has too many open batches or pipelines.',
    (c: { open: number; asked: number; max: number; unit: 'batches' | 'pipelines' | 'withdrawals' }) =>
      `The project has ${c.open} open ${c.unit} and this request adds ${c.asked}; the maximum is ${c.max}. Execute or cancel open ones first.`,
  ),
  ERR_CAP_REACHED: define(
    429,
    'The batch would take more of the operator’s SOL, or of a cap that keys share, than the project, the key, or all projects that are not admitted may hold.',
    (c: { problem: string; cap: ReachedCap; retryAfterSeconds: number | null }) => c.problem,
  ),
  ERR_POLICY_CAP_REACHED: define(
    429,
    'The batch would exceed what the company’s rules allow in a UTC day: of a recipient, of a proof type, or of new token accounts.',
    (c: ProblemList & { retryAfterSeconds: number }) => c.problems.join(' '),
  ),
  ERR_TOO_MANY_REGISTRATIONS: define(
    429,
    'Too many registrations of the wallet or the address are pending.',
    (c: { pending: number; max: number; of: 'wallet' | 'address'; untilAdmitted: boolean }) =>
      c.untilAdmitted
        ? `${c.pending} registrations of this ${c.of} are pending; the maximum is ${c.max}. Wait until the company has admitted them. One that was begun and not paid counts for two minutes.`
        : `${c.pending} registrations of this ${c.of} were begun in the last hour and not paid; the maximum is ${c.max}. Try again later.`,
  ),
  ERR_TOO_MANY_STREAMS: define(
    429,
    'Too many event streams are open with this API key or wallet, or of this project.',
    (c: { open: number; max: number; retryAfterSeconds: number }) =>
      `${c.open} event streams are open; the maximum is ${c.max}. Close one that you no longer read.`,
  ),
  ERR_TOO_MANY_AT_ONCE: define(
    429,
    'Too many previews of the project or by the wallet, checks before execution or proof checks of the project, proof checks of the address, registrations of the wallet, or reads of vaults are in progress.',
    (c: {
      work: 'previews' | 'checks before execution' | 'proof checks' | 'registrations' | 'reads of vaults';
      max: number;
      retryAfterSeconds: number;
    }) => `${c.max} ${c.work} are in progress, which is the maximum at once. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_INTERNAL: define(
    500,
    'The service failed unexpectedly.',
    () => 'The service failed unexpectedly. Its log has the cause under this request’s id.',
  ),
  ERR_BATCH_INIT_FAILED: define(
    500,
    'Compiling the pipelines or initializing the batch failed.',
    () =>
      'The batch could not be initialized, or its answer failed. Send the request again with the same x-idempotency-key: a batch that was stored is answered then.',
  ),
  ERR_BATCH_EXECUTE_FAILED: define(
    500,
    'The service failed to start or follow the execution.',
    () =>
      'The service could not start or follow the execution. Send the request again: a batch is never executed twice.',
  ),
  ERR_BATCH_CURRENT_FAILED: define(
    500,
    'The service failed to read the current batch.',
    () => 'The service failed to read the current batch. Try again.',
  ),
  ERR_PAUSED: define(
    503,
    'The company has paused this project, or all projects.',
    (c: { isForAll: boolean; reason: string | null }) =>
      `The company has paused ${c.isForAll ? 'all projects' : 'this project'}${c.reason === null ? '.' : `: ${asSentence(c.reason)}`} Nothing is lost. Try again after the company has resumed it.`,
  ),
  ERR_PROJECT_MOVING: define(
    503,
    'The project is being moved to another database of the service.',
    (c: { retryAfterSeconds: number }) =>
      `This project is being moved to another database of the service. Nothing is lost. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_WEBHOOKS_UNAVAILABLE: define(
    503,
    'The service has no key for webhook secrets.',
    () => 'Webhooks are not available: this service has neither WEBHOOK_KEY_FILE nor WEBHOOK_KEY.',
  ),
  ERR_SCHEMA_CHECK_UNAVAILABLE: define(
    503,
    'A JSON Schema, or a payload against it, could not be checked within the time limit.',
    (c: RequestIssue & { retryAfterSeconds: number }) => `${at(c)} Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_NONCE_POOL_EMPTY: define(
    503,
    'All durable nonces are in use; the pool is being refilled.',
    (c: { retryAfterSeconds: number }) =>
      `All durable nonces are in use; the pool is being refilled. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_NODE_UNAVAILABLE: define(
    503,
    'No Solana node answers, or all of them are behind the cluster.',
    (c: { retryAfterSeconds: number }) =>
      `No Solana node answers, or all of them are behind the cluster. Nothing is lost. Try again in ${c.retryAfterSeconds} s.`,
  ),
  ERR_OPERATOR_UNFUNDED: define(
    503,
    'The operator, who pays the fees, has no SOL; the batch could not be checked.',
    (c: { operator: string; retryAfterSeconds: number }) =>
      `The operator ${c.operator} of this service has no SOL for fees, so the batch cannot be checked; nothing was sent. Try again in ${c.retryAfterSeconds} s, after the company has funded it.`,
  ),
} as const satisfies { readonly [Code in ErrorCode]: Definition<never[]> };

/** Locates an issue in a request; `place` is a path such as `pipelines[2].actions[0].amount`. */
export interface RequestIssue {
  readonly place: string;
  readonly problem: string;
  /** Address of the recipient that causes it; absent for other causes. */
  readonly recipient?: string;
  /** All issues of the request as data, if there may be more than this one. */
  readonly details?: readonly Problem[];
}

/** Sentences for people, and the same as data. Batches of older releases have only the sentences. */
interface ProblemList {
  /** Each names its place. Long lists are cut. */
  readonly problems: readonly string[];
  readonly details?: readonly Problem[];
}

/** Context that the sentence of a code is built from; `void` when it needs none. */
export type ErrorContext<Code extends ErrorCode> = Parameters<(typeof ERRORS)[Code]['message']>[0];

interface Definition<Parameters extends readonly unknown[]> {
  readonly status: number;
  readonly summary: string;
  readonly message: (...parameters: Parameters) => string;
}

function define<Parameters extends readonly unknown[]>(
  status: number,
  summary: string,
  message: (...parameters: Parameters) => string,
): Definition<Parameters> {
  return { status, summary, message };
}

function at({ place, problem }: RequestIssue): string {
  return `${place} ${problem}`;
}

/** Ends what a person has written, such as the reason of a pause, as a sentence, so that another one can follow. */
export function asSentence(text: string): string {
  const trimmed = text.trimEnd();
  return /[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
