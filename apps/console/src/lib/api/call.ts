import type { Operation, OperationReply, OperationRequest } from '@flywheel/api';
import { type RequestParts, type SendOptions, sendRequest } from '@flywheel/sdk';

/**
 * Asks the service this page came from; the browser adds the session’s cookie. Reads are repeated when an answer is
 * lost, what changes something is not.
 * @param operation a row of the wire itself rather than its name: a screen then loads the rows it asks, not all of them.
 * @throws FlywheelError
 */
export async function call<O extends Operation>(
  operation: O,
  parts: OperationRequest<O> & RequestParts,
  options: Partial<SendOptions> = {},
): Promise<OperationReply<O>['body']> {
  const repeatable = operation.method === 'GET';
  const reply = await sendRequest({ url: location.origin }, operation, parts, { repeatable, ...options });
  return reply.body;
}
