import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import type { WebhookEvent, WebhookTopic } from '@flywheel/api';
import { systemClock } from '@flywheel/service/internal/clock.ts';
import type { Project } from '@flywheel/service/internal/model/project.ts';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { type Delivery, findDeliveries } from '@flywheel/service/internal/store/webhooks/deliveries.ts';
import { insertEndpoint } from '@flywheel/service/internal/store/webhooks/endpoints.ts';
import { queueDeliveries, startWebhookFeed } from '@flywheel/service/internal/store/webhooks/queue-deliveries.ts';
import { createMetrics } from '@flywheel/service/internal/telemetry/metrics.ts';
import { guardedLookup } from '@flywheel/service/internal/webhooks/receiver-address.ts';
import { createWebhookSecrets } from '@flywheel/service/internal/webhooks/secrets.ts';
import {
  type DeliverDeps,
  type Delivering,
  startDelivering,
} from '@flywheel/service/internal/webhooks/start-delivering.ts';
import { waitUntil } from './batches.ts';
import { quietLog, type TestDatabase } from './postgres.ts';

export const SECRETS = createWebhookSecrets(new Uint8Array(32).fill(7));
const HERE = { allowPrivate: true };

/** Starts a worker that only delivers, with short pauses; it stops after the file's tests. */
export function startTestDelivering(
  { db, poolConfig }: Pick<TestDatabase, 'db' | 'poolConfig'>,
  options: Partial<DeliverDeps> = {},
): Delivering {
  const feed = startWebhookFeed({ sessionConfig: poolConfig, clock: systemClock, log: quietLog });
  const delivering = startDelivering({
    db,
    clock: systemClock,
    log: quietLog,
    metrics: createMetrics(),
    onNews: feed.watch,
    secrets: SECRETS,
    rules: HERE,
    lookup: guardedLookup(HERE),
    timeoutMs: 5_000,
    schedule: { pausesMs: [10, 20, 40], random: () => 0.5 },
    ...options,
  });
  let stopping: Promise<unknown> | null = null;
  const stop = async () => {
    stopping ??= Promise.all([delivering.stop(), feed.stop()]);
    await stopping;
  };
  after(stop);
  return { stop };
}

export async function storeEndpoint(
  db: Db,
  { id: projectId }: Pick<Project, 'id'>,
  url: string,
  events: readonly WebhookTopic[] = ['batch.finalized', 'batch.executed'],
): Promise<string> {
  const id = randomUUID();
  await insertEndpoint(db, { id, projectId, url, events, createdAt: new Date() });
  return id;
}

/** Queues an event of a batch that need not exist. */
export async function queueEvent(db: Db, { id: projectId }: Pick<Project, 'id'>): Promise<WebhookEvent> {
  const event: WebhookEvent = {
    type: 'batch.finalized',
    timestamp: new Date().toISOString(),
    data: { projectId, batchId: randomUUID(), batchIndex: '1', kind: 'pipelines', status: 'FINALIZED', pipelines: 2 },
  };
  await queueDeliveries(db, projectId, event);
  return event;
}

/** Deliveries of an endpoint, newest first. */
export function deliveriesOf(db: Db, endpointId: string): Promise<Delivery[]> {
  return findDeliveries(db, endpointId, { state: undefined, below: null, limit: 100 });
}

/** Waits until the newest delivery satisfies the condition. */
export async function untilNewest(
  db: Db,
  endpointId: string,
  isWanted: (delivery: Delivery) => boolean,
): Promise<Delivery> {
  const readNewest = async () => (await deliveriesOf(db, endpointId))[0] ?? null;
  const seen = await waitUntil(
    `deliveries of ${endpointId}`,
    readNewest,
    (delivery) => delivery !== null && isWanted(delivery),
  );
  if (seen === null) throw new Error('until has seen one.');
  return seen;
}
