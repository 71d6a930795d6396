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
import { idParam } from '../schemas.ts';
import { HEAVY, page, projectParams, SESSION } from './common.ts';

const webhookParams = projectParams.extend({ webhookId: idParam });
const deliveryParams = webhookParams.extend({
  deliveryId: z.string().regex(/^[1-9]\d{0,17}$/, 'must be a delivery’s id'),
});

/** Webhooks of a project. Its wallet may change them; company operators may read them. */
export const WEBHOOK_OPERATIONS = {
  listWebhooks: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/webhooks',
    summary: 'List the webhooks of a project',
    description: 'Endpoints and the state of their newest delivery. Secrets are never shown.',
    params: projectParams,
    responses: { 200: { description: 'The webhooks.', schema: WebhookList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  createWebhook: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks',
    summary: 'Create a webhook',
    description: 'Events are sent from now on. The secret is shown only in this response.',
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
    description:
      'Omitted fields stay unchanged. Deliveries that are pending when a webhook is disabled are sent when it is enabled again.',
    params: webhookParams,
    body: ChangeWebhookRequest,
    responses: { 200: { description: 'The changed webhook.', schema: Webhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  rotateWebhookSecret: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/rotate',
    summary: 'Replace the secret of a webhook',
    description:
      'Deliveries carry a signature of each secret until the overlap ends, then of the new secret only. Secrets older than the previous one no longer sign.',
    params: webhookParams,
    body: RotateWebhookRequest,
    responses: { 200: { description: 'The new secret, shown only here.', schema: CreatedWebhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND', 'ERR_WEBHOOKS_UNAVAILABLE'],
  },
  deleteWebhook: {
    ...SESSION,
    method: 'DELETE',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}',
    summary: 'Delete a webhook',
    description: 'Also deletes its deliveries, including pending ones.',
    params: webhookParams,
    responses: { 200: { description: 'Deleted.', schema: DeletedWebhook } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  listWebhookDeliveries: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/deliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Newest first, a page at a time. Finished deliveries are kept for 30 days or longer.',
    params: webhookParams,
    query: z.object({ state: DeliveryState.optional().describe('Only deliveries of this state.'), ...page }),
    responses: { 200: { description: 'A page of deliveries.', schema: WebhookDeliveryPage } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND'],
  },
  redeliverWebhook: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
    summary: 'Deliver an event again',
    description: 'Sends it at once with the same event id. Failed attempts are retried like those of a new event.',
    params: deliveryParams,
    body: z.strictObject({}),
    responses: { 200: { description: 'The delivery is queued.', schema: WebhookDelivery } },
    errors: [
      'ERR_PROJECT_NOT_FOUND',
      'ERR_WEBHOOK_NOT_FOUND',
      'ERR_WEBHOOK_DELIVERY_NOT_FOUND',
      'ERR_WEBHOOK_DISABLED',
    ],
  },
  testWebhook: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/projects/{projectId}/webhooks/{webhookId}/test',
    summary: 'Send a test event',
    description: 'Queues an event of type `webhook.test`.',
    params: webhookParams,
    body: z.strictObject({}),
    responses: { 200: { description: 'The delivery is queued.', schema: WebhookDelivery } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_WEBHOOK_NOT_FOUND', 'ERR_WEBHOOK_DISABLED'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
