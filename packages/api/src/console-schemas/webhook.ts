import * as z from 'zod';
import { WebhookEventType, WebhookTopic } from '../webhook-events.ts';
import { overlapSeconds } from './key.ts';
import { isoDateTime, nextCursor } from './values.ts';

const url = z.string().min(1).describe('Of the receiver: https, without user or password, at a public address.');
const events = z
  .array(WebhookTopic)
  .min(1)
  .max(WebhookTopic.options.length)
  .describe('What it is told. `webhook.test` it is told whenever somebody asks for it.');
const secret = z
  .string()
  .describe('`whsec_` and base64: what deliveries are signed with (Standard Webhooks). Shown this once.');

export const DeliveryState = z
  .enum(['waiting', 'delivered', 'failed'])
  .describe('`waiting`: for its first attempt, its next one, or for its endpoint to be enabled. `failed`: given up.');

export const CreateWebhookRequest = z.strictObject({ url, events }).meta({ id: 'CreateWebhookRequest' });

export const ChangeWebhookRequest = z
  .strictObject({ url: url.optional(), events: events.optional(), state: z.enum(['active', 'disabled']).optional() })
  .meta({ id: 'ChangeWebhookRequest' });

export const RotateWebhookRequest = z
  .strictObject({
    overlapSeconds: overlapSeconds.describe(
      'How long deliveries are signed with the old secret too; a day by default, 0 ends it at once.',
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
      .describe('To one that is disabled nothing new is queued, and nothing is sent.'),
    disabledReason: z.string().optional(),
    dateCreated: isoDateTime,
    previousSecretUntil: isoDateTime.optional().describe('Until then deliveries are signed with the old secret too.'),
    newestDelivery: z
      .object({
        type: WebhookEventType,
        state: DeliveryState,
        status: z.int().optional().describe('Of HTTP, of its last attempt that was answered.'),
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
    eventId: z.string().describe('The header `webhook-id`: the same in every attempt.'),
    type: WebhookEventType,
    state: DeliveryState,
    attempts: z.int(),
    payload: z.string().describe('The very text that is signed.'),
    dateCreated: isoDateTime,
    lastAttemptAt: isoDateTime.optional(),
    nextAttemptAt: isoDateTime.optional().describe('While it waits.'),
    deliveredAt: isoDateTime.optional(),
    status: z.int().optional().describe('Of HTTP, of the last attempt; absent where there was no answer.'),
    error: z.string().optional().describe('Why the last attempt came to nothing.'),
    response: z.string().optional().describe('The first 1,024 bytes of what the receiver answered.'),
  })
  .meta({ id: 'WebhookDelivery' });

export const WebhookDeliveryPage = z
  .object({ deliveries: z.array(WebhookDelivery).describe('Newest first.'), nextCursor })
  .meta({ id: 'WebhookDeliveryPage' });

export type CreateWebhookRequest = z.output<typeof CreateWebhookRequest>;
export type ChangeWebhookRequest = z.output<typeof ChangeWebhookRequest>;
export type RotateWebhookRequest = z.output<typeof RotateWebhookRequest>;
export type Webhook = z.output<typeof Webhook>;
export type CreatedWebhook = z.output<typeof CreatedWebhook>;
export type WebhookDelivery = z.output<typeof WebhookDelivery>;
export type WebhookDeliveryPage = z.output<typeof WebhookDeliveryPage>;
