import type { Operation, OperationReply, OperationRequest } from '@flywheel/api';
import { type RequestParts, type SendOptions, sendRequest } from '@flywheel/sdk';

/**
 * Calls an operation of the service that this page came from; the browser adds the session cookie. It retries reads when
 * the connection fails, and never retries writes.
 * @param operation the operation itself and not its name, so that a screen loads only the schemas it uses.
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
