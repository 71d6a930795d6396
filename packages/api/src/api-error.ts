import type { ErrorCode } from './error-codes.ts';
import { ERRORS, type ErrorContext } from './errors.ts';

type ErrorArguments<Code extends ErrorCode> =
  [] extends Parameters<(typeof ERRORS)[Code]['message']>
    ? [context?: undefined, options?: ErrorOptions]
    : [context: ErrorContext<Code>, options?: ErrorOptions];

/**
 * An error for the caller: `throw new ApiError('ERR_BATCH_NOT_FOUND', { batchId })`. An unknown code or a missing
 * context does not compile. `cause` is logged and never sent to the caller.
 */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly context: ErrorContext<Code>;

  constructor(code: Code, ...[context, options]: ErrorArguments<Code>) {
    const { status, message } = ERRORS[code];
    // The tuple type above proves that `context` belongs to this code.
    super((message as (context: unknown) => string)(context), options);
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
    this.context = context as ErrorContext<Code>;
  }
}

/** Narrows a value to an ApiError, and to one code if `code` is given. */
export function isApiError<Code extends ErrorCode = ErrorCode>(error: unknown, code?: Code): error is ApiError<Code> {
  return error instanceof ApiError && (code === undefined || error.code === code);
}
