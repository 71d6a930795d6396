import type { DeliveryState, WebhookEvent, WebhookEventType } from '@flywheel/api';
import { type Selectable, sql } from 'kysely';
import type { Db } from '../db.ts';
import { newEventId, WEBHOOKS_CHANNEL } from './queue-deliveries.ts';
import type { WebhookDeliveriesTable } from './tables.ts';

/** An event for an endpoint, with the state of its delivery. */
export interface Delivery {
  readonly id: bigint;
  readonly endpointId: string;
  /** The same in every attempt. */
  readonly eventId: string;
  readonly type: WebhookEventType;
  /** The exact text that is signed. */
  readonly payload: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextAttemptAt: Date;
  readonly lastAttemptAt: Date | null;
  /** HTTP status; null if there was no response. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastResponse: string | null;
  readonly createdAt: Date;
  readonly deliveredAt: Date | null;
}

/** Queues an event for one endpoint, whatever it subscribes to. */
export async function insertDelivery(trx: Db, endpointId: string, event: WebhookEvent): Promise<Delivery> {
  const at = new Date(event.timestamp);
  const row = await trx
    .insertInto('webhook_deliveries')
    .values({
      endpoint_id: endpointId,
      event_id: newEventId(),
      type: event.type,
      payload: JSON.stringify(event),
      next_attempt_at: at,
      created_at: at,
    })
    .returning(DELIVERY_COLUMNS)
    .executeTakeFirstOrThrow();
  await wakeWorkers(trx);
  return toDelivery(row);
}

/** Reads a page of an endpoint’s deliveries, newest first: below an id and of one state, if given. */
export async function findDeliveries(
  db: Db,
  endpointId: string,
  {
    state,
    below,
    limit,
  }: { readonly state: DeliveryState | undefined; readonly below: bigint | null; readonly limit: number },
): Promise<Delivery[]> {
  let query = db
    .selectFrom('webhook_deliveries')
    .select(DELIVERY_COLUMNS)
    .where('endpoint_id', '=', endpointId)
    .orderBy('id', 'desc')
    .limit(limit);
  if (state !== undefined) query = query.where('state', '=', state);
  if (below !== null) query = query.where('id', '<', below);
  return (await query.execute()).map(toDelivery);
}

/**
 * Schedules a delivery again at once with the same event id, like a new one. A delivery whose attempt is running stays
 * unchanged. Returns null if the endpoint has no such delivery.
 */
export async function repeatDelivery(
  trx: Db,
  endpointId: string,
  deliveryId: bigint,
  now: Date,
): Promise<Delivery | null> {
  await trx
    .updateTable('webhook_deliveries')
    .set({
      state: 'waiting',
      tries: 0,
      next_attempt_at: now,
      lease: null,
      leased_until: null,
      delivered_at: null,
    })
    .where('endpoint_id', '=', endpointId)
    .where('id', '=', deliveryId)
    .where((eb) => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', now)]))
    .execute();
  await wakeWorkers(trx);
  const row = await trx
    .selectFrom('webhook_deliveries')
    .select(DELIVERY_COLUMNS)
    .where('endpoint_id', '=', endpointId)
    .where('id', '=', deliveryId)
    .executeTakeFirst();
  return row ? toDelivery(row) : null;
}

/** Makes the waiting deliveries of an endpoint due at once: its receiver may have been repaired while it was disabled. */
export async function makeWaitingDue(trx: Db, endpointId: string, now: Date): Promise<void> {
  await trx
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: now })
    .where('endpoint_id', '=', endpointId)
    .where('state', '=', 'waiting')
    .where('next_attempt_at', '>', now)
    .execute();
}

async function wakeWorkers(trx: Db): Promise<void> {
  await sql`select pg_notify(${WEBHOOKS_CHANNEL}, '')`.execute(trx);
}

const DELIVERY_COLUMNS = [
  ...(['id', 'endpoint_id', 'event_id', 'type', 'payload', 'state', 'attempts', 'next_attempt_at'] as const),
  ...(['last_attempt_at', 'last_status', 'last_error', 'last_response', 'created_at', 'delivered_at'] as const),
] as const;

function toDelivery(row: Pick<Selectable<WebhookDeliveriesTable>, (typeof DELIVERY_COLUMNS)[number]>): Delivery {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    type: row.type,
    payload: row.payload,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    lastAttemptAt: row.last_attempt_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastResponse: row.last_response,
    createdAt: row.created_at,
    deliveredAt: row.delivered_at,
  };
}
