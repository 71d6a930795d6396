import {
  type ChangeWebhookRequest,
  type CreateWebhookRequest,
  WEBHOOK_OPERATIONS,
  type WebhookDelivery,
} from '@flywheel/api';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** An attempt takes up to 15 s, and the first pause after one is 5 s. */
const POLL_INTERVAL_MS = 3_000;

/** Lists the webhooks of a project, oldest first; polls while a delivery is pending. */
export function webhooksQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'webhooks'],
    queryFn: () => call(WEBHOOK_OPERATIONS.listWebhooks, { params: { projectId } }),
    refetchInterval: ({ state: { data } }) =>
      data?.webhooks.some(({ newestDelivery }) => newestDelivery?.state === 'waiting') ? POLL_INTERVAL_MS : false,
  });
}

/** Lists the deliveries of a webhook, newest first, in pages; polls while the page is visible. */
export function deliveriesQuery(projectId: string, webhookId: string, state: WebhookDelivery['state'] | null) {
  return infiniteQueryOptions({
    queryKey: ['project', projectId, 'webhooks', webhookId, 'deliveries', state],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor }) =>
      call(WEBHOOK_OPERATIONS.listWebhookDeliveries, {
        params: { projectId, webhookId },
        query: { limit: '20', ...(state === null ? {} : { state }), ...(cursor === '' ? {} : { cursor }) },
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: POLL_INTERVAL_MS,
  });
}

export function createWebhook(projectId: string, body: CreateWebhookRequest) {
  return call(WEBHOOK_OPERATIONS.createWebhook, { params: { projectId }, body });
}

/** Changes a webhook. Omitted fields stay unchanged. */
export function changeWebhook(projectId: string, webhookId: string, body: ChangeWebhookRequest) {
  return call(WEBHOOK_OPERATIONS.changeWebhook, { params: { projectId, webhookId }, body });
}

/** Replaces the secret. The old one also signs until the overlap ends. */
export function rotateWebhookSecret(projectId: string, webhookId: string, overlapSeconds: number) {
  return call(WEBHOOK_OPERATIONS.rotateWebhookSecret, { params: { projectId, webhookId }, body: { overlapSeconds } });
}

/** Deletes a webhook with its deliveries. */
export function deleteWebhook(projectId: string, webhookId: string) {
  return call(WEBHOOK_OPERATIONS.deleteWebhook, { params: { projectId, webhookId }, body: {} });
}

export function testWebhook(projectId: string, webhookId: string) {
  return call(WEBHOOK_OPERATIONS.testWebhook, { params: { projectId, webhookId }, body: {} });
}

export function redeliver(projectId: string, webhookId: string, deliveryId: string) {
  return call(WEBHOOK_OPERATIONS.redeliverWebhook, { params: { projectId, webhookId, deliveryId }, body: {} });
}
