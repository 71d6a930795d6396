import { randomUUID } from 'node:crypto';
import type { WebhookEvent } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** On which the workers that deliver are woken. */
export const WEBHOOKS_CHANNEL = 'webhooks';

/**
 * Queues an event for each endpoint of a project that wants it, in the transaction in which it happens: it is told if
 * and only if that commits. Each of them is told under the same id. Endpoints stay until that transaction ends: one
 * deleted meanwhile takes the delivery with it.
 */
export async function queueDeliveries(trx: Db, projectId: string, event: WebhookEvent): Promise<void> {
  const at = new Date(event.timestamp);
  await sql`
    with endpoint as (
      select id from webhook_endpoints
      where project_id = ${projectId} and state = 'active' and ${event.type} = any(events)
      for key share
    ),
    queued as (
      insert into webhook_deliveries (endpoint_id, event_id, type, payload, next_attempt_at, created_at)
      select id, ${newEventId()}, ${event.type}, ${JSON.stringify(event)}, ${at}, ${at} from endpoint
      returning id
    )
    select pg_notify(${WEBHOOKS_CHANNEL}, '') from queued limit 1
  `.execute(trx);
}

/** Of Standard Webhooks’ header `webhook-id`: by it a receiver knows what it has had. */
export function newEventId(): string {
  return `evt_${randomUUID().replaceAll('-', '')}`;
}
