import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Webhook, WebhookDelivery } from '@flywheel/api';
import { layOutTable } from '../../format.ts';

const WEBHOOK_HEADINGS = ['WEBHOOK', 'STATE', 'NEWEST DELIVERY', 'RECEIVER', 'EVENTS'] as const;

/** A line for each webhook, those that are disabled dimmed, with why. */
export function describeWebhooks(webhooks: readonly Webhook[], stream: Writable): string {
  if (webhooks.length === 0) return 'The project has no webhooks. Make one with flywheel webhooks create.';
  const { heading, lines } = layOutTable(WEBHOOK_HEADINGS, webhooks.map(webhookCells), stream);
  return [
    heading,
    ...webhooks.flatMap(({ state, disabledReason }, i) => {
      const line = lines[i] ?? '';
      if (state === 'active') return [line];
      return [styleText('dim', line, { stream }), ...(disabledReason === undefined ? [] : [`  ${disabledReason}`])];
    }),
  ].join('\n');
}

const DELIVERY_HEADINGS = ['DELIVERY', 'STATE', 'ATTEMPTS', 'STATUS', 'EVENT', 'ID', 'QUEUED'] as const;

/** A line for each delivery, with why it is not delivered. */
export function describeDeliveries(deliveries: readonly WebhookDelivery[], hasMore: boolean, stream: Writable): string {
  if (deliveries.length === 0) return 'There are no such deliveries. flywheel webhooks test sends one.';
  const { heading, lines } = layOutTable(DELIVERY_HEADINGS, deliveries.map(deliveryCells), stream);
  return [
    heading,
    ...deliveries.flatMap(({ error, nextAttemptAt }, i) => [
      lines[i] ?? '',
      ...(error === undefined ? [] : [`  ${error}${nextAttemptAt === undefined ? '' : ` Again at ${nextAttemptAt}.`}`]),
    ]),
    ...(hasMore ? [styleText('dim', 'There are older ones: --json has the cursor for --cursor.', { stream })] : []),
  ].join('\n');
}

function webhookCells({ webhookId, state, url, events, newestDelivery }: Webhook): string[] {
  const newest = newestDelivery === undefined ? 'none yet' : `${newestDelivery.type} ${newestDelivery.state}`;
  return [webhookId, state, newest, url, events.join(',')];
}

function deliveryCells({ deliveryId, state, attempts, status, type, eventId, dateCreated }: WebhookDelivery): string[] {
  return [deliveryId, state, String(attempts), status === undefined ? '' : String(status), type, eventId, dateCreated];
}
