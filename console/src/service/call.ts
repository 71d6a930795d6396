import {
  CONSOLE_OPERATIONS,
  type ConsoleOperationId,
  type Operation,
  type OperationReply,
  type OperationRequest,
} from '@flywheel/api';
import { type Connection, type RequestParts, type SendOptions, sendRequest } from '@flywheel/sdk';

type Row<Id extends ConsoleOperationId> = (typeof CONSOLE_OPERATIONS)[Id];

const CONNECTION: Connection = { url: location.origin };

/**
 * Asks the service this page came from; the browser adds the session’s cookie. Reads are repeated when an answer is
 * lost, what changes something is not.
 * @throws FlywheelError
 */
export async function call<Id extends ConsoleOperationId>(
  operationId: Id,
  parts: OperationRequest<Row<Id>> & RequestParts,
  options: Partial<SendOptions> = {},
): Promise<OperationReply<Row<Id>>['body']> {
  const operation: Operation = CONSOLE_OPERATIONS[operationId];
  const repeatable = operation.method === 'GET';
  const reply = await sendRequest(CONNECTION, CONSOLE_OPERATIONS[operationId], parts, { repeatable, ...options });
  return reply.body;
}
