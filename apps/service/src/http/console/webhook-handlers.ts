import type { WEBHOOK_OPERATIONS } from '@flywheel/api';
import { listDeliveries, redeliver, sendTest } from '../../webhooks/deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from '../../webhooks/endpoints.ts';
import { pageParams } from '../batches/present.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

/** Handlers of the operations on a project's webhooks. */
export function createWebhookHandlers(deps: ConsoleDeps): Handlers<typeof WEBHOOK_OPERATIONS> {
  return {
    listWebhooks: async ({ wallet }, { params }) => ({
      status: 200,
      body: { webhooks: await listEndpoints(deps, wallet, params.projectId) },
    }),

    createWebhook: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await createEndpoint(deps, wallet, params.projectId, body),
    }),

    changeWebhook: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeEndpoint(deps, wallet, params, body),
    }),

    rotateWebhookSecret: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await rotateSecret(deps, wallet, params, body),
    }),

    deleteWebhook: async ({ wallet }, { params }) => {
      await removeEndpoint(deps, wallet, params);
      return { status: 200, body: { webhookId: params.webhookId } };
    },

    listWebhookDeliveries: async ({ wallet }, { params, query: { state, ...page } }) => ({
      status: 200,
      body: await listDeliveries(deps, wallet, params, { state, ...pageParams(page) }),
    }),

    redeliverWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await redeliver(deps, wallet, params, params.deliveryId),
    }),

    testWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await sendTest(deps, wallet, params),
    }),
  };
}
