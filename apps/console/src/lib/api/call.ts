import type { Operation, OperationReply, OperationRequest } from '@flywheel/api';
import { type FlywheelError, type RequestParts, type SendOptions, sendRequest } from '@flywheel/sdk';
import { noteRepeat } from './repeats.ts';

/**
 * Calls an operation of the service that this page came from; the browser adds the session cookie. It retries reads when
 * the connection fails, and what the service asks to repeat later; `RepeatNotice` says so meanwhile. It never retries what
 * the service refuses: a person who waits needs the reason at once.
 * @param operation the operation itself and not its name, so that a screen loads only the schemas it uses.
 * @throws FlywheelError
 */
export async function call<O extends Operation>(
  operation: O,
  parts: OperationRequest<O> & RequestParts,
  options: Partial<SendOptions> = {},
): Promise<OperationReply<O>['body']> {
  return (await callForReply(operation, parts, options)).body;
}

/** Calls an operation like `call`, and returns the answer with its headers. */
export async function callForReply<O extends Operation>(
  operation: O,
  parts: OperationRequest<O> & RequestParts,
  options: Partial<SendOptions> = {},
): Promise<OperationReply<O>> {
  const repeatable = operation.method === 'GET';
  const repeat = noteRepeat();
  try {
    const connection = { url: location.origin, onRetry: repeat.wait };
    return await sendRequest(connection, operation, parts, { repeatable, mayRetry: isPassing, ...options });
  } finally {
    repeat.end();
  }
}

/** True for an answer that another attempt may change: none, too many requests, or a fault of the service. */
function isPassing({ status }: FlywheelError): boolean {
  return status === null || status === 429 || status >= 500;
}
