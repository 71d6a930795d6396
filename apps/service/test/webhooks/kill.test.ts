import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { CreatedWebhook, WebhookDelivery } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { send } from '@flywheel/testing/client';
import { createProject, requireOk } from '@flywheel/testing/project';
import { type ServiceProcess, startServiceProcess } from '@flywheel/testing/service-process';
import { openReceiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import { openWorld, type World } from '@flywheel/testing/world';

const ENVIRONMENT = { WEBHOOK_KEY: Buffer.alloc(32, 7).toString('base64'), WEBHOOK_ALLOW_PRIVATE: '1' };

let world: World;
const workers: ServiceProcess[] = [];
before(async () => {
  world = await openWorld(ENVIRONMENT, { roles: new Set(['http']) });
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await world.stop();
});

it('an event that a killed worker has sent and not recorded is sent by another one under the same id', async () => {
  const work = async () => {
    const worker = await startServiceProcess('work', world.environment);
    workers.push(worker);
    return worker;
  };
  const killed = Promise.withResolvers<void>();
  const first = await work();
  await using receiver = await openReceiver((_, response, place) => {
    if (place > 1) response.writeHead(204).end();
    // The receiver has the event, and no process will record it.
    else void first.kill().then(killed.resolve, killed.reject);
  });
  const project = await createProject(world);
  const headers = { cookie: project.cookie };
  const path = `/console/api/projects/${project.projectId}/webhooks`;
  const body = { url: receiver.url, events: ['batch.executed'] };
  const { webhook, secret }: CreatedWebhook = requireOk(await send(world.url, 'POST', path, { headers, body }));
  const own = `${path}/${webhook.webhookId}`;
  const sent: WebhookDelivery = requireOk(await send(world.url, 'POST', `${own}/test`, { headers, body: {} }));
  await killed.promise;
  await work();
  const newest = async (): Promise<WebhookDelivery> =>
    requireOk(await send(world.url, 'GET', `${own}/deliveries`, { headers })).deliveries[0];
  assert.equal((await newest()).state, 'waiting', 'its lease holds');
  // Its lease of 30 s expires at once.
  await world.db
    .updateTable('webhook_deliveries')
    .set({ leased_until: new Date(0) })
    .execute();
  const [before, again] = await receiver.until(2);
  assert.deepEqual([before?.id, again?.id, again?.body], [sent.eventId, sent.eventId, sent.payload]);
  assert.ok(again);
  assert.equal(verifyWebhook(again, secret).type, 'webhook.test');
  const delivered = await waitUntil('it to be recorded', newest, ({ state }) => state === 'delivered');
  assert.equal(delivered.attempts, 2);
});
