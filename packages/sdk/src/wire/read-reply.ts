import { ErrorBody, type Operation, type OperationReply } from '@flywheel/api';
import { FlywheelError, isErrorCode } from '../errors.ts';
import { retryAfterSeconds } from './repeat.ts';

/**
 * An answer as its operation documents it.
 * @throws FlywheelError with the service’s code, or `ERR_UNEXPECTED_REPLY`.
 */
export function readReply<O extends Operation>(operation: O, response: Response, text: string): OperationReply<O> {
  const { status } = response;
  const body = parseJson(text);
  const expected = operation.responses[status];
  if (!expected) throw failure(operation, response, body);
  const checked = expected.schema.safeParse(body);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw unexpected(operation, response, `${issue?.path.join('.') || 'the body'}: ${issue?.message}`);
  }
  // The status is one the operation documents and the body has just satisfied its schema. The body is handed on as it
  // came, so that fields newer than this client are not lost.
  return { status, body, headers: Object.fromEntries(response.headers) } as OperationReply<O>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no answer of the wire: the schema check that follows says so.
    return undefined;
  }
}

function failure(operation: Operation, response: Response, body: unknown): FlywheelError {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success || !isErrorCode(parsed.data.error)) {
    return unexpected(
      operation,
      response,
      parsed.success ? `${parsed.data.error}: ${parsed.data.message}` : 'no error body',
    );
  }
  return new FlywheelError({
    code: parsed.data.error,
    message: parsed.data.message,
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: retryAfterSeconds(response),
  });
}

function unexpected(operation: Operation, response: Response, problem: string): FlywheelError {
  return new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: `${operation.method} ${operation.path} answered ${response.status} with something this client does not know (${problem}).`,
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: retryAfterSeconds(response),
  });
}
