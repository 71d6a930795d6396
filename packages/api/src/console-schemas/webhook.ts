import * as z from 'zod';
import { nextCursor } from '../page.ts';
import { isoDateTime } from '../values.ts';
import { WebhookEventType, WebhookTopic } from '../webhook-events.ts';
import { overlapSeconds } from './key.ts';

const url = z.string().min(1).describe('URL of the receiver: https, a public address, no user name or password.');
const events = z
  .array(WebhookTopic)
  .min(1)
  .max(WebhookTopic.options.length)
  .describe('Events that are sent. `webhook.test` is sent on request, whatever this list contains.');
const secret = z
  .string()
  .describe('Key that signs the deliveries (Standard Webhooks): `whsec_` and base64. Shown only here.');

export const DeliveryState = z
  .enum(['waiting', 'delivered', 'failed'])
  .describe(
    '`waiting`: for the first or next attempt, or until the webhook is enabled. `failed`: all attempts failed.',
  );

export const CreateWebhookRequest = z.strictObject({ url, events }).meta({ id: 'CreateWebhookRequest' });

export const ChangeWebhookRequest = z
  .strictObject({ url: url.optional(), events: events.optional(), state: z.enum(['active', 'disabled']).optional() })
  .meta({ id: 'ChangeWebhookRequest' });

export const RotateWebhookRequest = z
  .strictObject({
    overlapSeconds: overlapSeconds.describe(
      'Seconds that deliveries are also signed with the old secret; default one day, 0 ends it at once.',
    ),
  })
  .meta({ id: 'RotateWebhookRequest' });

export const Webhook = z
  .object({
    webhookId: z.guid(),
    url: z.string(),
    events: z.array(WebhookTopic),
    state: z
      .enum(['active', 'disabled'])
      .describe('While a webhook is disabled, no new events are queued and nothing is sent.'),
    disabledReason: z.string().optional(),
    dateCreated: isoDateTime,
    previousSecretUntil: isoDateTime
      .optional()
      .describe('Until this time deliveries are also signed with the old secret.'),
    newestDelivery: z
      .object({
        type: WebhookEventType,
        state: DeliveryState,
        status: z.int().optional().describe('HTTP status of the last attempt; absent if there was no response.'),
        dateCreated: isoDateTime,
      })
      .optional(),
  })
  .meta({ id: 'Webhook' });

export const WebhookList = z
  .object({ webhooks: z.array(Webhook).describe('Oldest first.') })
  .meta({ id: 'WebhookList' });

export const CreatedWebhook = z.object({ webhook: Webhook, secret }).meta({ id: 'CreatedWebhook' });

export const DeletedWebhook = z.object({ webhookId: z.guid() }).meta({ id: 'DeletedWebhook' });

export const WebhookDelivery = z
  .object({
    deliveryId: z.string(),
    eventId: z.string().describe('Value of the header `webhook-id`; the same in every attempt.'),
    type: WebhookEventType,
    state: DeliveryState,
    attempts: z.int(),
    payload: z.string().describe('Exact text that is signed.'),
    dateCreated: isoDateTime,
    lastAttemptAt: isoDateTime.optional(),
    nextAttemptAt: isoDateTime.optional().describe('Present while it is waiting.'),
    deliveredAt: isoDateTime.optional(),
    status: z.int().optional().describe('HTTP status of the last attempt; absent if there was no response.'),
    error: z.string().optional().describe('Why the last attempt failed.'),
    response: z.string().optional().describe('First 1,024 bytes of the response.'),
  })
  .meta({ id: 'WebhookDelivery' });

export const WebhookDeliveryPage = z
  .object({ deliveries: z.array(WebhookDelivery).describe('Newest first.'), nextCursor })
  .meta({ id: 'WebhookDeliveryPage' });

export type DeliveryState = z.output<typeof DeliveryState>;
export type CreateWebhookRequest = z.output<typeof CreateWebhookRequest>;
export type ChangeWebhookRequest = z.output<typeof ChangeWebhookRequest>;
export type RotateWebhookRequest = z.output<typeof RotateWebhookRequest>;
export type Webhook = z.output<typeof Webhook>;
export type CreatedWebhook = z.output<typeof CreatedWebhook>;
export type WebhookDelivery = z.output<typeof WebhookDelivery>;
export type WebhookDeliveryPage = z.output<typeof WebhookDeliveryPage>;
