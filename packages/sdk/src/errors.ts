import { ERRORS, type ErrorCode } from '@flywheel/api';

/**
 * Faults that no answer of the service describes: `ERR_UNREACHABLE` nothing answered, `ERR_TIMED_OUT` too late,
 * `ERR_UNEXPECTED_REPLY` an answer that is not the wire’s, `ERR_SIGNING_REFUSED` a transaction this client will not sign.
 */
export type ClientErrorCode = 'ERR_UNREACHABLE' | 'ERR_TIMED_OUT' | 'ERR_UNEXPECTED_REPLY' | 'ERR_SIGNING_REFUSED';

export type FlywheelErrorCode = ErrorCode | ClientErrorCode;

export interface FlywheelErrorDetails<Code extends FlywheelErrorCode = FlywheelErrorCode> {
  readonly code: Code;
  readonly message: string;
  /** HTTP status; null when nothing was answered. */
  readonly status?: number | null;
  /** Quote it when asking about this failure: the service’s log carries it. */
  readonly requestId?: string | null;
  /** When the service asked to wait. */
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
}

/**
 * Any failure of a call to the service.
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

  constructor(details: FlywheelErrorDetails<Code>) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'FlywheelError';
    this.code = details.code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

/** Narrows to a FlywheelError, of one code if one is given. */
export function isFlywheelError<Code extends FlywheelErrorCode = FlywheelErrorCode>(
  error: unknown,
  code?: Code,
): error is FlywheelError<Code> {
  return error instanceof FlywheelError && (code === undefined || error.code === code);
}

/** Whether a text is a code of the service’s catalogue. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
