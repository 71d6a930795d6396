import {
  CONSOLE_OPERATIONS,
  type CreatedWebhook,
  type OperationRequest,
  type Webhook,
  type WebhookDelivery,
  type WebhookDeliveryPage,
} from '@flywheel/api';
import { type Connection, sendRequest } from '@flywheel/sdk';

/** What a project’s wallet does with its webhooks. */
export interface WebhookCalls {
  /** Oldest first. */
  list(projectId: string): Promise<Webhook[]>;
  create(projectId: string, body: CreateBody): Promise<CreatedWebhook>;
  setState(projectId: string, webhookId: string, state: Webhook['state']): Promise<Webhook>;
  /** Both secrets sign until the overlap is over. */
  rotate(projectId: string, webhookId: string, body: { readonly overlapSeconds?: number }): Promise<CreatedWebhook>;
  /** With its deliveries. */
  remove(projectId: string, webhookId: string): Promise<{ readonly webhookId: string }>;
  /** A page, newest first. */
  listDeliveries(projectId: string, webhookId: string, query: DeliveriesQuery): Promise<WebhookDeliveryPage>;
  redeliver(projectId: string, webhookId: string, deliveryId: string): Promise<WebhookDelivery>;
  sendTest(projectId: string, webhookId: string): Promise<WebhookDelivery>;
}

type CreateBody = OperationRequest<typeof CONSOLE_OPERATIONS.createWebhook>['body'];
type DeliveriesQuery = OperationRequest<typeof CONSOLE_OPERATIONS.listWebhookDeliveries>['query'];

/** What a call does twice when sent twice is sent once. */
const ONCE = { repeatable: false } as const;
const REPEATABLE = { repeatable: true } as const;

/** Over a connection whose wallet has signed in. */
export function createWebhookCalls(connection: Connection): WebhookCalls {
  const operations = CONSOLE_OPERATIONS;
  return {
    async list(projectId) {
      return (await sendRequest(connection, operations.listWebhooks, { params: { projectId } }, REPEATABLE)).body
        .webhooks;
    },

    async create(projectId, body) {
      return (await sendRequest(connection, operations.createWebhook, { params: { projectId }, body }, ONCE)).body;
    },

    async setState(projectId, webhookId, state) {
      const request = { params: { projectId, webhookId }, body: { state } };
      return (await sendRequest(connection, operations.changeWebhook, request, REPEATABLE)).body;
    },

    async rotate(projectId, webhookId, body) {
      const request = { params: { projectId, webhookId }, body };
      return (await sendRequest(connection, operations.rotateWebhookSecret, request, ONCE)).body;
    },

    async remove(projectId, webhookId) {
      const request = { params: { projectId, webhookId } };
      return (await sendRequest(connection, operations.deleteWebhook, request, ONCE)).body;
    },

    async listDeliveries(projectId, webhookId, query) {
      const request = { params: { projectId, webhookId }, query };
      return (await sendRequest(connection, operations.listWebhookDeliveries, request, REPEATABLE)).body;
    },

    async redeliver(projectId, webhookId, deliveryId) {
      const request = { params: { projectId, webhookId, deliveryId }, body: {} };
      return (await sendRequest(connection, operations.redeliverWebhook, request, ONCE)).body;
    },

    async sendTest(projectId, webhookId) {
      const request = { params: { projectId, webhookId }, body: {} };
      return (await sendRequest(connection, operations.testWebhook, request, ONCE)).body;
    },
  };
}
