import type { WEBHOOK_OPERATIONS } from '@flywheel/api';
import { listDeliveries, redeliver, sendTest } from '../../webhooks/deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointIds,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from '../../webhooks/endpoints.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

const DEFAULT_PAGE = 50;

/** Handlers of the operations on a project's webhooks. */
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
      body: await changeEndpoint(deps, wallet, idParams(params), body),
    }),

    rotateWebhookSecret: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await rotateSecret(deps, wallet, idParams(params), body),
    }),

    deleteWebhook: async ({ wallet }, { params }) => {
      const ids = idParams(params);
      await removeEndpoint(deps, wallet, ids);
      return { status: 200, body: { webhookId: ids.webhookId } };
    },

    listWebhookDeliveries: async ({ wallet }, { params, query: { state, cursor, limit } }) => ({
      status: 200,
      body: await listDeliveries(deps, wallet, idParams(params), {
        state,
        cursor,
        limit: Number(limit ?? DEFAULT_PAGE),
      }),
    }),

    redeliverWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await redeliver(deps, wallet, idParams(params), params.deliveryId),
    }),

    testWebhook: async ({ wallet }, { params }) => ({
      status: 200,
      body: await sendTest(deps, wallet, idParams(params)),
    }),
  };
}

/** Ids are stored in lowercase, but accepted in any case. */
function idParams({ projectId, webhookId }: EndpointIds): EndpointIds {
  return { projectId: projectId.toLowerCase(), webhookId: webhookId.toLowerCase() };
}
