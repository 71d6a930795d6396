import { randomUUID } from 'node:crypto';
import type { WebhookEvent } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { type ListenDeps, startListening } from '../listen.ts';

/** Channel that wakes delivering workers. */
export const WEBHOOKS_CHANNEL = 'webhooks';

/**
 * Queues an event for each subscribed endpoint of a project, in the transaction of the event: it is sent if and only if
 * that transaction commits. All endpoints get the same event id. The endpoints are locked until the transaction ends; a
 * later deletion deletes the delivery too.
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

/** Value of the header `webhook-id`, by which a receiver recognizes repeats. */
export function newEventId(): string {
  return `evt_${randomUUID().replaceAll('-', '')}`;
}

/** Notifies about new deliveries and balance checks, recorded by any process. */
export interface WebhookFeed {
  /**
   * Subscribes. The callback may also be called without anything new, and is not called while the connection is lost.
   * @returns a function that unsubscribes.
   */
  watch(wake: () => void): () => void;
  stop(): Promise<void>;
}

export function startWebhookFeed(deps: ListenDeps): WebhookFeed {
  const watchers = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of [...watchers]) wake();
  };
  const listening = startListening(deps, WEBHOOKS_CHANNEL, { onListening: wakeAll, onNotice: wakeAll });
  return {
    watch(wake) {
      watchers.add(wake);
      return () => watchers.delete(wake);
    },
    stop: () => listening.stop(),
  };
}
