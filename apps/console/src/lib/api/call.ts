import type { Operation, OperationReply, OperationRequest } from '@flywheel/api';
import { type FlywheelError, type RequestParts, type SendOptions, sendRequest } from '@flywheel/sdk';
import { fetchWithClock } from './clock.ts';
import { trackRetries } from './retries.ts';

/**
 * Calls an operation of the service that this page came from; the browser adds the session cookie. It retries reads when
 * the connection fails, and what the service asks to retry later; `RetryNotice` says so meanwhile. It never retries what
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
  const retries = trackRetries();
  try {
    const connection = { url: location.origin, onRetry: retries.wait, fetch: fetchWithClock };
    return await sendRequest(connection, operation, parts, { repeatable, mayRetry: isPassing, ...options });
  } finally {
    retries.end();
  }
}

/** True for an answer that another attempt may change: no answer, too many requests, or an error of the service. */
function isPassing({ status }: FlywheelError): boolean {
  return status === null || status === 429 || status >= 500;
}
