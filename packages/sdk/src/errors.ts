import { ERROR_CODES, type ErrorCode, type Problem, type ReachedCap } from '@flywheel/api';

/**
 * Errors of this client, beside those of the service: `ERR_UNREACHABLE` no connection, `ERR_TIMED_OUT` no answer in time,
 * `ERR_UNEXPECTED_REPLY` an answer that the API does not document, `ERR_SIGNING_REFUSED` a transaction that this client
 * does not sign, `ERR_CHAIN_MISMATCH` a chain that differs from what was signed, `ERR_RUN_TOO_EARLY` a run whose
 * previous run has not executed all pipelines, `ERR_BATCH_STILL_EXECUTABLE` a failed batch whose rest the chain could
 * still execute, so that it is not sent again. Of a collector: `ERR_COLLECTOR_STOPPED` it has stopped, and its cause
 * says why, `ERR_COLLECTOR_REPLACED` another one pays from its store, `ERR_COLLECTOR_PROJECT` its store belongs to
 * another project, `ERR_ITEM_CHANGED` a known id with another content, `ERR_ITEM_STATE` an item that cannot be moved
 * now.
 */
export type ClientErrorCode =
  | 'ERR_UNREACHABLE'
  | 'ERR_TIMED_OUT'
  | 'ERR_UNEXPECTED_REPLY'
  | 'ERR_SIGNING_REFUSED'
  | 'ERR_CHAIN_MISMATCH'
  | 'ERR_RUN_TOO_EARLY'
  | 'ERR_BATCH_STILL_EXECUTABLE'
  | 'ERR_COLLECTOR_STOPPED'
  | 'ERR_COLLECTOR_REPLACED'
  | 'ERR_COLLECTOR_PROJECT'
  | 'ERR_ITEM_CHANGED'
  | 'ERR_ITEM_STATE';

/** Code of an error: one of the service (docs/errors.md), or one of this client. */
export type FlywheelErrorCode = ErrorCode | ClientErrorCode;

/** Values of a FlywheelError. */
export interface FlywheelErrorDetails<Code extends FlywheelErrorCode = FlywheelErrorCode> {
  readonly code: Code;
  readonly message: string;
  /** HTTP status; null if there was no answer. */
  readonly status?: number | null;
  /** Quote it when you ask about this error: the service's log contains it. */
  readonly requestId?: string | null;
  /** Seconds that the service asked to wait; null if it did not. */
  readonly retryAfterSeconds?: number | null;
  /** Shard that has answered a request to the console's API, for example `2 of 3`; null if the service has no shards. */
  readonly shard?: string | null;
  /** Id of the batch that the call was about; null if it is not known. */
  readonly batchId?: string | null;
  /** Idempotency key of that batch; null if it is not known. The same call with the same key is the same batch. */
  readonly idempotencyKey?: string | null;
  /** Issues of the request, with the place of each; empty if the service names no place. */
  readonly problems?: readonly Problem[];
  /** The cap that the call would exceed; null for errors other than `ERR_CAP_REACHED`. */
  readonly cap?: ReachedCap | null;
  readonly cause?: unknown;
}

/**
 * The error of every failed call to the service or to a Solana node.
 *
 * @example
 * try {
 *   await client.initBatch({ pipelines });
 * } catch (error) {
 *   if (isFlywheelError(error, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED')) console.log(error.message);
 *   else throw error;
 * }
 */
export class FlywheelError<Code extends FlywheelErrorCode = FlywheelErrorCode> extends Error {
  readonly code: Code;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly shard: string | null;
  readonly batchId: string | null;
  readonly idempotencyKey: string | null;
  readonly problems: readonly Problem[];
  readonly cap: ReachedCap | null;

  constructor(details: FlywheelErrorDetails<Code>) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'FlywheelError';
    this.code = details.code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.shard = details.shard ?? null;
    this.batchId = details.batchId ?? null;
    this.idempotencyKey = details.idempotencyKey ?? null;
    this.problems = details.problems ?? [];
    this.cap = details.cap ?? null;
  }
}

/** Narrows an error to a FlywheelError, of one code if a code is given. */
export function isFlywheelError<Code extends FlywheelErrorCode = FlywheelErrorCode>(
  error: unknown,
  code?: Code,
): error is FlywheelError<Code> {
  return error instanceof FlywheelError && (code === undefined || error.code === code);
}

/** Narrows a text to a code that the service documents. */
export function isErrorCode(code: string): code is ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(code);
}

/** Creates the error of a transaction that is not signed. The reason continues “Not signed: …”. */
export function signingRefused(reason: string, cause?: unknown): FlywheelError<'ERR_SIGNING_REFUSED'> {
  return new FlywheelError({ code: 'ERR_SIGNING_REFUSED', message: `Not signed: ${reason}`, cause });
}

/** Adds the batch to a FlywheelError that does not name one yet. Any other value is returned as it is. */
export function nameBatch(
  error: unknown,
  names: { readonly batchId?: string | null; readonly idempotencyKey?: string | null },
): unknown {
  if (!isFlywheelError(error) || (error.batchId !== null && error.idempotencyKey !== null)) return error;
  const { message, cause, stack } = error;
  // A spread copies every field of the class, but nothing that Error itself sets.
  const named = new FlywheelError({
    ...error,
    message,
    cause,
    batchId: error.batchId ?? names.batchId ?? null,
    idempotencyKey: error.idempotencyKey ?? names.idempotencyKey ?? null,
  });
  if (stack !== undefined) named.stack = stack;
  return named;
}
