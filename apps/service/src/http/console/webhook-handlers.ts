import type { WEBHOOK_OPERATIONS } from '@flywheel/api';
import { listDeliveries, redeliver, sendTest } from '../../webhooks/deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointPlace,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from '../../webhooks/endpoints.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';

const DEFAULT_PAGE = 50;

/** Whom a project has told what becomes of its batches. */
export function createWebhookHandlers(deps: ConsoleDeps): Handlers<typeof WEBHOOK_OPERATIONS> {
  return {
    listWebhooks: async ({ wallet }, { params }) => ({
      status: 200,
      body: { webhooks: await listEndpoints(deps, wallet, params.projectId.toLowerCase()) },
    }),

    createWebhook: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await createEndpoint(deps, wallet, params.projectId.toLowerCase(), body),
    }),

    changeWebhook: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await changeEndpoint(deps, wallet, placeOf(params), body),
    }),

    rotateWebhookSecret: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await rotateSecret(deps, wallet, placeOf(params), body),
    }),

    deleteWebhook: async ({ wallet }, { params }) => {
      const place = placeOf(params);
      await removeEndpoint(deps, wallet, place);
      return { status: 200, body: { webhookId: place.webhookId } };
    },

    listWebhookDeliveries: async ({ wallet }, { params, query: { state, cursor, limit } }) => ({
      status: 200,
      body: await listDeliveries(deps, wallet, placeOf(params), {
        state,
        cursor,
        limit: Number(limit ?? DEFAULT_PAGE),
      }),
    }),

    redeliverWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await redeliver(deps, wallet, placeOf(params), params.deliveryId),
    }),

    testWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await sendTest(deps, wallet, placeOf(params)),
    }),
  };
}

function placeOf({ projectId, webhookId }: EndpointPlace): EndpointPlace {
  return { projectId: projectId.toLowerCase(), webhookId: webhookId.toLowerCase() };
}
