import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WebhookEvent } from '@flywheel/sdk';
import { createWebhookHandler } from '@flywheel/sdk/webhooks';
import { Webhook } from 'standardwebhooks';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const EVENT: WebhookEvent = {
  type: 'webhook.test',
  timestamp: '2026-11-21T14:02:19.114Z',
  data: { projectId: '0c2d9a1b-52a7-4d1e-8b3f-6c7d1e2f3a4b', webhookId: 'b7a2d3c0-54e1-4f3a-8f55-1d2d8f1f0f11' },
};

it('createWebhookHandler passes on what the service signed, with its id, and answers 204', async () => {
  const received: unknown[] = [];
  const receive = createWebhookHandler(SECRET, (event, eventId) => void received.push([eventId, event]));
  const { status } = await receive(requestOf(JSON.stringify({ ...EVENT, later: true })));
  assert.deepEqual([status, received], [204, [['msg_1', EVENT]]]);
});

it('createWebhookHandler answers 401 to a request that was not signed with the secret within five minutes, and calls no handler', async () => {
  const receive = createWebhookHandler(SECRET, () => assert.fail('called'));
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const body = JSON.stringify(EVENT);
  for (const [request, message] of [
    [requestOf(body, { secret: other }), /No matching signature/],
    [requestOf(body, { sent: `${body} ` }), /No matching signature/],
    [requestOf(body, { ageSeconds: 400 }), /too old/],
    [requestOf('not JSON', { sent: body }), /No matching signature/],
    [new Request('http://localhost', { method: 'POST', body }), /Missing required headers/],
  ] as const) {
    const response = await receive(request);
    assert.equal(response.status, 401);
    assert.match(await response.text(), message);
  }
});

it('createWebhookHandler fails where the event was not handled, so that the service sends it again', async () => {
  const receive = createWebhookHandler(SECRET, async () => Promise.reject(new Error('no disk')));
  await assert.rejects(receive(requestOf(JSON.stringify(EVENT))), /no disk/);
  await assert.rejects(receive(requestOf(JSON.stringify({ ...EVENT, type: 'batch.invented' }))), { name: 'ZodError' });
  assert.throws(() => createWebhookHandler('', () => undefined), /Secret can't be empty/);
});

function requestOf(signed: string, { secret = SECRET, sent = signed, ageSeconds = 0 } = {}): Request {
  const time = new Date(Date.now() - ageSeconds * 1_000);
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(time.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', time, signed),
  };
  return new Request('http://localhost', { method: 'POST', headers, body: sent });
}
