import { ApiError, type WebhookDelivery, type WebhookDeliveryPage } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { requireVisibleProject } from '../projects/access.ts';
import {
  type Delivery,
  type DeliveryState,
  findDeliveries,
  insertDelivery,
  repeatDelivery,
} from '../store/webhooks/deliveries.ts';
import { type Endpoint, findEndpoint } from '../store/webhooks/endpoints.ts';
import { change, type EndpointDeps, type EndpointIds, record } from './endpoints.ts';

/**
 * A page of an endpoint’s deliveries, newest first. The cursor is the id of the last one seen, in our own words.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND; ERR_INVALID_REQUEST for a cursor that is none of ours
 */
export async function listDeliveries(
  deps: EndpointDeps,
  wallet: Address,
  { projectId, webhookId }: EndpointIds,
  asked: {
    readonly state: DeliveryState | undefined;
    readonly cursor: string | undefined;
    readonly limit: number;
  },
): Promise<WebhookDeliveryPage> {
  const { db } = deps;
  await requireVisibleProject(deps, wallet, projectId);
  if (!(await findEndpoint(db, projectId, webhookId))) throw new ApiError('ERR_WEBHOOK_NOT_FOUND', { webhookId });
  const { state, cursor, limit } = asked;
  const found = await findDeliveries(db, webhookId, { state, below: parseCursor(cursor), limit: limit + 1 });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    deliveries: page.map(presentDelivery),
    ...(found.length > limit && last && { nextCursor: `d${last.id}` }),
  };
}

/**
 * Delivers an event again, at once.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_WEBHOOK_DELIVERY_NOT_FOUND, ERR_WEBHOOK_DISABLED
 */
export async function redeliver(
  deps: EndpointDeps,
  wallet: Address,
  place: EndpointIds,
  deliveryId: string,
): Promise<WebhookDelivery> {
  return change(deps, wallet, place, async (trx, endpoint) => {
    const repeated = await repeatDelivery(trx, endpoint.id, BigInt(deliveryId), deps.clock.now());
    if (!repeated) throw new ApiError('ERR_WEBHOOK_DELIVERY_NOT_FOUND', { deliveryId });
    // What is thrown takes it back.
    requireActive(endpoint);
    const after = { eventId: repeated.eventId };
    await record(trx, deps, wallet, endpoint, { action: 'webhook.redelivered', after });
    return presentDelivery(repeated);
  });
}

/**
 * Sends an endpoint a test event.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_WEBHOOK_NOT_FOUND, ERR_WEBHOOK_DISABLED
 */
export async function sendTest(deps: EndpointDeps, wallet: Address, place: EndpointIds): Promise<WebhookDelivery> {
  return change(deps, wallet, place, async (trx, endpoint) => {
    requireActive(endpoint);
    const delivery = await insertDelivery(trx, endpoint.id, {
      type: 'webhook.test',
      timestamp: deps.clock.now().toISOString(),
      data: { projectId: endpoint.projectId, webhookId: endpoint.id },
    });
    const after = { eventId: delivery.eventId };
    await record(trx, deps, wallet, endpoint, { action: 'webhook.tested', after });
    return presentDelivery(delivery);
  });
}

function requireActive({ id: webhookId, state, disabledReason: reason }: Endpoint): void {
  if (state !== 'active') throw new ApiError('ERR_WEBHOOK_DISABLED', { webhookId, reason });
}

function parseCursor(cursor: string | undefined): bigint | null {
  if (cursor === undefined) return null;
  const id = /^d([1-9]\d{0,17})$/.exec(cursor)?.[1];
  if (id !== undefined) return BigInt(id);
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'query.cursor',
    problem: 'is none that this operation answered.',
  });
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
