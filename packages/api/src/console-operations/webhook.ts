import * as z from 'zod';
import {
  ChangeWebhookRequest,
  CreatedWebhook,
  CreateWebhookRequest,
  DeletedWebhook,
  DeliveryState,
  RotateWebhookRequest,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookList,
} from '../console-schemas/webhook.ts';
import type { Operation } from '../operation.ts';
import { SESSION } from './access.ts';
import { page, projectParams } from './params.ts';

const webhookParams = projectParams.extend({ webhookId: z.guid() });
const deliveryParams = webhookParams.extend({
  deliveryId: z.string().regex(/^[1-9]\d{0,17}$/, 'must be a delivery’s id'),
});

/** Whom a project has told what becomes of its batches; its own wallet changes that, the company may read it. */
export const WEBHOOK_OPERATIONS = {
  listWebhooks: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/webhooks',
    summary: 'List the webhooks of a project',
    description: 'Where events are sent, and how the newest has fared; never the secrets.',
    params: projectParams,
    responses: { 200: { description: 'The webhooks.', schema: WebhookList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  createWebhook: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks',
    summary: 'Create a webhook',
    description: 'Events are sent from now on. The secret is shown this once.',
    params: projectParams,
    body: CreateWebhookRequest,
    responses: { 200: { description: 'The webhook and its secret.', schema: CreatedWebhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_TOO_MANY_WEBHOOKS', 'ERR_WEBHOOKS_UNAVAILABLE'],
  },
  changeWebhook: {
    ...SESSION,
    method: 'PUT',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}',
    summary: 'Change, disable or enable a webhook',
    description: 'What is left out stays as it is. What waits when one is disabled goes out when it is enabled again.',
    params: webhookParams,
    body: ChangeWebhookRequest,
    responses: { 200: { description: 'As it is since.', schema: Webhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  rotateWebhookSecret: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/rotate',
    summary: 'Replace the secret of a webhook',
    description:
      'Deliveries carry a signature of each secret until the overlap is over, then of the new one alone. A secret before the last one signs nothing any more.',
    params: webhookParams,
    body: RotateWebhookRequest,
    responses: { 200: { description: 'The new secret, shown this once.', schema: CreatedWebhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND', 'ERR_WEBHOOKS_UNAVAILABLE'],
  },
  deleteWebhook: {
    ...SESSION,
    method: 'DELETE',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}',
    summary: 'Delete a webhook',
    description: 'With its deliveries, those that wait included.',
    params: webhookParams,
    responses: { 200: { description: 'Deleted.', schema: DeletedWebhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  listWebhookDeliveries: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/deliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first, a page at a time. Those that are over are kept for 30 days.',
    params: webhookParams,
    query: z.object({ state: DeliveryState.optional().describe('Only deliveries of this state.'), ...page }),
    responses: { 200: { description: 'A page of deliveries.', schema: WebhookDeliveryPage } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  redeliverWebhook: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
    summary: 'Deliver an event again',
    description: 'At once, under the id that it has; attempts that fail are made again as if it were new.',
    params: deliveryParams,
    body: z.strictObject({}),
    responses: { 200: { description: 'On its way.', schema: WebhookDelivery } },
    errors: [
      'ERR_PROJECT_NOT_FOUND',
      'ERR_WEBHOOK_NOT_FOUND',
      'ERR_WEBHOOK_DELIVERY_NOT_FOUND',
      'ERR_WEBHOOK_DISABLED',
    ],
  },
  testWebhook: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/test',
    summary: 'Send a test event',
    description: 'A `webhook.test`, delivered as every event is.',
    params: webhookParams,
    body: z.strictObject({}),
    responses: { 200: { description: 'On its way.', schema: WebhookDelivery } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND', 'ERR_WEBHOOK_DISABLED'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
