import { ApiError, type DeliveryState, type WebhookDelivery, type WebhookDeliveryPage } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { pageOf, parseCursor } from '../model/page.ts';
import { requireVisibleProject } from '../projects/access.ts';
import { type Delivery, findDeliveries, insertDelivery, repeatDelivery } from '../store/webhooks/deliveries.ts';
import { type Endpoint, findEndpoint } from '../store/webhooks/endpoints.ts';
import { change, type EndpointDeps, type EndpointIds } from './endpoints.ts';

/**
 * Reads a page of an endpoint’s deliveries, newest first.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND; ERR_INVALID_REQUEST for a cursor of another list
 */
export async function listDeliveries(
  deps: EndpointDeps,
  wallet: Address,
  { projectId, webhookId }: EndpointIds,
  input: {
    readonly state: DeliveryState | undefined;
    readonly cursor: string | undefined;
    readonly limit: number;
  },
): Promise<WebhookDeliveryPage> {
  const { db } = deps;
  await requireVisibleProject(deps, wallet, projectId);
  if (!(await findEndpoint(db, projectId, webhookId))) throw new ApiError('ERR_WEBHOOK_NOT_FOUND', { webhookId });
  const { state, cursor, limit } = input;
  const found = await findDeliveries(db, webhookId, { state, below: parseCursor('d', cursor), limit: limit + 1 });
  const { rows, nextCursor } = pageOf('d', found, { limit, numberOf: ({ id }) => id });
  return { deliveries: rows.map(presentDelivery), ...(nextCursor !== null && { nextCursor }) };
}

/**
 * Delivers an event again, at once.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_WEBHOOK_DELIVERY_NOT_FOUND, ERR_WEBHOOK_DISABLED
 */
export async function redeliver(
  deps: EndpointDeps,
  wallet: Address,
  ids: EndpointIds,
  deliveryId: string,
): Promise<WebhookDelivery> {
  return change(deps, wallet, ids, async (trx, endpoint) => {
    const repeated = await repeatDelivery(trx, endpoint.id, BigInt(deliveryId), deps.clock.now());
    if (!repeated) throw new ApiError('ERR_WEBHOOK_DELIVERY_NOT_FOUND', { deliveryId });
    // The error rolls the delivery back.
    requireActive(endpoint);
    return presentDelivery(repeated);
  });
}

/**
 * Sends an endpoint a test event.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_WEBHOOK_DISABLED
 */
export async function sendTest(deps: EndpointDeps, wallet: Address, ids: EndpointIds): Promise<WebhookDelivery> {
  return change(deps, wallet, ids, async (trx, endpoint) => {
    requireActive(endpoint);
    const delivery = await insertDelivery(trx, endpoint.id, {
      type: 'webhook.test',
      timestamp: deps.clock.now().toISOString(),
      data: { projectId: endpoint.projectId, webhookId: endpoint.id },
    });
    return presentDelivery(delivery);
  });
}

function requireActive({ id: webhookId, state, disabledReason: reason }: Endpoint): void {
  if (state !== 'active') throw new ApiError('ERR_WEBHOOK_DISABLED', { webhookId, reason });
}

function presentDelivery(delivery: Delivery): WebhookDelivery {
  const { id, eventId, type, state, attempts, payload, createdAt, lastAttemptAt, nextAttemptAt, deliveredAt } =
    delivery;
  const { lastStatus, lastError, lastResponse } = delivery;
  return {
    deliveryId: String(id),
    eventId,
    type,
    state,
    attempts,
    payload,
    dateCreated: createdAt.toISOString(),
    ...(lastAttemptAt && { lastAttemptAt: lastAttemptAt.toISOString() }),
    ...(state === 'waiting' && { nextAttemptAt: nextAttemptAt.toISOString() }),
    ...(deliveredAt && { deliveredAt: deliveredAt.toISOString() }),
    ...(lastStatus !== null && { status: lastStatus }),
    ...(lastError !== null && { error: lastError }),
    ...(lastResponse !== null && lastResponse !== '' && { response: lastResponse }),
  };
}
