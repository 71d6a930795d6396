import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CreatedWebhook, Webhook, WebhookDelivery } from '@flywheel/api';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openReceiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { MAX_ENDPOINTS } from '../../src/webhooks/endpoints.ts';
import { insertManyChanges } from '../many-changes.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

let world: World;
let ask: ConsoleWorld['ask'];
let companyCookie: string;
let project: TestProject;
let stranger: TestProject;
before(async () => {
  ({ world, ask, companyCookie } = await openConsoleWorld({ WEBHOOK_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: '1' }));
  [project, stranger] = await Promise.all([createProject(world), createProject(world)]);
});
after(() => world.stop());

const path = (rest = '', { projectId }: Pick<TestProject, 'projectId'> = project) =>
  `/projects/${projectId}/webhooks${rest}`;
const list = async (): Promise<Webhook[]> => requireOk(await ask('GET', path(), project.cookie)).webhooks;
const create = async (url: string, of = project): Promise<CreatedWebhook> =>
  requireOk(await ask('POST', path('', of), of.cookie, { url, events: ['batch.executed', 'batch.failed'] }));
const change = (webhookId: string, body: object, cookie = project.cookie) =>
  ask('PUT', path(`/${webhookId}`), cookie, body);
const test = (webhookId: string) => ask('POST', path(`/${webhookId}/test`), project.cookie, {});
const deliveries = async (webhookId: string, query = ''): Promise<WebhookDelivery[]> =>
  requireOk(await ask('GET', path(`/${webhookId}/deliveries${query}`), project.cookie)).deliveries;
const remove = async (webhookId: string) => requireOk(await ask('DELETE', path(`/${webhookId}`), project.cookie));

describe('a webhook', () => {
  it('is created with a secret that is shown once and verifies its test events', async () => {
    await using receiver = await openReceiver((_, response) => response.writeHead(200).end('thanks'));
    const { webhook, secret } = await create(receiver.url);
    assert.match(secret, /^whsec_[\w+/]{43}=$/);
    assert.deepEqual(webhook, {
      webhookId: webhook.webhookId,
      url: receiver.url,
      events: ['batch.executed', 'batch.failed'],
      state: 'active',
      dateCreated: webhook.dateCreated,
    });
    const sent: WebhookDelivery = requireOk(await test(webhook.webhookId));
    assert.deepEqual([sent.type, sent.state, sent.attempts], ['webhook.test', 'waiting', 0]);
    const [received] = await receiver.until(1);
    assert.ok(received);
    assert.equal(received.id, sent.eventId);
    assert.equal(received.body, sent.payload);
    assert.deepEqual(verifyWebhook(received, secret), {
      type: 'webhook.test',
      timestamp: sent.dateCreated,
      data: { projectId: project.projectId, webhookId: webhook.webhookId },
    });
    const [delivery] = await waitUntil(
      'the delivery',
      () => deliveries(webhook.webhookId),
      ([newest]) => newest?.state === 'delivered',
    );
    assert.deepEqual([delivery?.status, delivery?.response, delivery?.attempts], [200, 'thanks', 1]);
    assert.ok(delivery?.deliveredAt && delivery.nextAttemptAt === undefined);
    const [listed] = await list();
    assert.deepEqual(listed?.newestDelivery, {
      type: 'webhook.test',
      state: 'delivered',
      status: 200,
      dateCreated: sent.dateCreated,
    });
    assert.ok(!JSON.stringify(await list()).includes('whsec_'));
    await remove(webhook.webhookId);
    assert.deepEqual(await list(), []);
  });

  it('keeps every field that a change does not name', async () => {
    const { webhook } = await create('http://one.example/');
    const { webhookId } = webhook;
    assert.deepEqual(requireOk(await change(webhookId, {})), webhook);
    const events = ['vault.low', 'batch.failed', 'vault.low'];
    const changed = requireOk(await change(webhookId, { url: 'http://two.example/', events }));
    assert.deepEqual(changed, { ...webhook, url: 'http://two.example/', events: ['batch.failed', 'vault.low'] });
    const disabled = requireOk(await change(webhookId, { state: 'disabled' }));
    assert.deepEqual(disabled, { ...changed, state: 'disabled' });
    for (const refused of [await test(webhookId)]) {
      assertError(refused, 409, 'ERR_WEBHOOK_DISABLED', /is disabled\. Enable it first/);
    }
    assert.deepEqual(requireOk(await change(webhookId, { state: 'active' })), changed);
    await remove(webhookId);
  });

  it('is created, changed and rotated a thousand times a day in its project, and deleted at any time', async () => {
    const busy = await createProject(world);
    const { webhook } = await create('http://one.example/', busy);
    const { webhookId } = webhook;
    for (const action of ['webhook.created', 'webhook.changed', 'webhook.rotated'] as const) {
      await insertManyChanges(world.db, busy, action, 999);
    }
    const body = { url: 'http://two.example/', events: ['batch.failed'] };
    const at = (rest: string) => path(`/${webhookId}${rest}`, busy);
    assertError(await ask('POST', path('', busy), busy.cookie, body), 429, 'ERR_RATE_LIMITED', /limit of 1000 /);
    requireOk(await ask('PUT', at(''), busy.cookie, body));
    const once = { ...body, url: 'http://three.example/' };
    assertError(await ask('PUT', at(''), busy.cookie, once), 429, 'ERR_RATE_LIMITED', /limit of 1000 /);
    requireOk(await ask('POST', at('/rotate'), busy.cookie, {}));
    assertError(await ask('POST', at('/rotate'), busy.cookie, {}), 429, 'ERR_RATE_LIMITED', /limit of 1000 /);
    const [listed] = requireOk(await ask('GET', path('', busy), busy.cookie)).webhooks;
    assert.equal(listed.url, body.url);
    requireOk(await ask('DELETE', at(''), busy.cookie));
  });

  it('is disabled with a reason if its receiver is gone, and can be enabled again', async () => {
    let isGone = true;
    await using receiver = await openReceiver((_, response) => response.writeHead(isGone ? 410 : 204).end());
    const { webhook } = await create(receiver.url);
    requireOk(await test(webhook.webhookId));
    const [gone] = await waitUntil('its end', list, ([only]) => only?.state === 'disabled');
    assert.match(gone?.disabledReason ?? '', /410/);
    const [failed] = await deliveries(webhook.webhookId, '?state=failed');
    assert.ok(failed);
    const again = path(`/${webhook.webhookId}/deliveries/${failed.deliveryId}/redeliver`);
    assertError(await ask('POST', again, project.cookie, {}), 409, 'ERR_WEBHOOK_DISABLED', /answered 410/);
    assert.equal((await deliveries(webhook.webhookId))[0]?.state, 'failed');
    isGone = false;
    const enabled = requireOk(await change(webhook.webhookId, { state: 'active' }));
    assert.deepEqual([enabled.state, enabled.disabledReason], ['active', undefined]);
    requireOk(await ask('POST', again, project.cookie, {}));
    const [first, second] = await receiver.until(2);
    assert.deepEqual([second?.id, second?.body], [first?.id, first?.body]);
    await waitUntil(
      'it',
      () => deliveries(webhook.webhookId),
      ([only]) => only?.state === 'delivered' && only.attempts === 2,
    );
    await remove(webhook.webhookId);
  });

  it('gets what waits for its next attempt at once when it is enabled again', async () => {
    await using receiver = await openReceiver((_, response, place) =>
      response.writeHead(place === 1 ? 500 : 204).end(),
    );
    const { webhook } = await create(receiver.url);
    requireOk(await test(webhook.webhookId));
    await waitUntil(
      'the first attempt',
      () => deliveries(webhook.webhookId),
      ([only]) => only?.attempts === 1,
    );
    requireOk(await change(webhook.webhookId, { state: 'disabled' }));
    const next_attempt_at = new Date(Date.now() + 60 * 60 * 1_000);
    await world.db
      .updateTable('webhook_deliveries')
      .set({ next_attempt_at })
      .where('endpoint_id', '=', webhook.webhookId)
      .execute();
    requireOk(await change(webhook.webhookId, { state: 'active' }));
    await receiver.until(2);
    await remove(webhook.webhookId);
  });

  it('gets a new secret: both sign until the overlap ends, and the old one never again', async () => {
    await using receiver = await openReceiver();
    const { webhook, secret: first } = await create(receiver.url);
    const rotate = async (body: object): Promise<CreatedWebhook> =>
      requireOk(await ask('POST', path(`/${webhook.webhookId}/rotate`), project.cookie, body));
    const { webhook: rotated, secret: second } = await rotate({ overlapSeconds: 60 });
    assert.notEqual(first, second);
    const untilMs = Date.parse(rotated.previousSecretUntil ?? '') - Date.now();
    assert.ok(untilMs > 50_000 && untilMs <= 60_000);
    requireOk(await test(webhook.webhookId));
    const [during] = await receiver.until(1);
    assert.ok(during);
    verifyWebhook(during, first);
    verifyWebhook(during, second);
    const { webhook: ended, secret: third } = await rotate({ overlapSeconds: 0 });
    assert.equal(ended.previousSecretUntil, undefined);
    requireOk(await test(webhook.webhookId));
    const [, since] = await receiver.until(2);
    assert.ok(since);
    verifyWebhook(since, third);
    for (const old of [first, second]) assert.throws(() => verifyWebhook(since, old));
    await remove(webhook.webhookId);
  });

  it('lists its deliveries newest first, page by page, by state', async () => {
    await using receiver = await openReceiver();
    const { webhook } = await create(receiver.url);
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.unshift(requireOk(await test(webhook.webhookId)).deliveryId);
    await waitUntil(
      'all',
      () => deliveries(webhook.webhookId),
      (all) => all.every(({ state }) => state === 'delivered'),
    );
    const page = (query: string) => ask('GET', path(`/${webhook.webhookId}/deliveries${query}`), project.cookie);
    const first = requireOk(await page('?limit=2'));
    const second = requireOk(await page(`?limit=2&cursor=${first.nextCursor}`));
    const seen = [...first.deliveries, ...second.deliveries].map(({ deliveryId }) => deliveryId);
    assert.deepEqual([seen, second.nextCursor], [ids, undefined]);
    assert.equal((await deliveries(webhook.webhookId, '?state=delivered')).length, 3);
    assert.deepEqual(await deliveries(webhook.webhookId, '?state=waiting'), []);
    assertError(await page('?cursor=x1'), 400, 'ERR_INVALID_REQUEST', /query\.cursor/);
    assertError(await page('?state=lost'), 400, 'ERR_INVALID_REQUEST', /query\.state/);
    await remove(webhook.webhookId);
  });

  it('is rejected with the reason if it is invalid', async () => {
    const cases: readonly (readonly [body: object, message: RegExp])[] = [
      [{ url: 'ftp://example.com', events: ['vault.low'] }, /body\.url begins with ftp:/],
      [{ url: 'http://me:secret@example.com', events: ['vault.low'] }, /body\.url contains a user or password/],
      [{ url: `http://example.com/${'a'.repeat(2_048)}`, events: ['vault.low'] }, /body\.url has 2067 characters/],
      [{ url: 'http://example.com', events: [] }, /body\.events/],
      [{ url: 'http://example.com', events: ['webhook.test'] }, /body\.events/],
      [{ url: 'http://example.com' }, /body\.events/],
      [{ url: 'http://example.com', events: ['vault.low'], secret: 'x' }, /secret/],
    ];
    for (const [body, message] of cases) {
      assertError(await ask('POST', path(), project.cookie, body), 400, 'ERR_INVALID_REQUEST', message);
    }
    const { webhook } = await create('http://one.example/');
    assertError(
      await change(webhook.webhookId, { url: 'nowhere' }),
      400,
      'ERR_INVALID_REQUEST',
      /body\.url is not a URL/,
    );
    const rotate = path(`/${webhook.webhookId}/rotate`);
    for (const overlapSeconds of [-1, 1.5, 30 * 86_400 + 1]) {
      const refused = await ask('POST', rotate, project.cookie, { overlapSeconds });
      assertError(refused, 400, 'ERR_INVALID_REQUEST', /body\.overlapSeconds/);
    }
    const missing = path(`/${webhook.webhookId}/deliveries/999999999/redeliver`);
    const answers = [await ask('POST', missing, project.cookie, {}), await test(randomUUID())] as const;
    assertError(answers[0], 404, 'ERR_WEBHOOK_DELIVERY_NOT_FOUND');
    assertError(answers[1], 404, 'ERR_WEBHOOK_NOT_FOUND');
    // Each makes the service send a request to an address that a tenant chose.
    for (const { headers } of answers) assert.match(headers.get('ratelimit-policy') ?? '', /^"heavy"/);
    await remove(webhook.webhookId);
  });

  it(`is one of ${MAX_ENDPOINTS} at most, also after simultaneous requests`, async () => {
    const asked = Array.from({ length: MAX_ENDPOINTS + 3 }, (_, i) =>
      ask('POST', path(), project.cookie, { url: `http://${i}.example`, events: ['vault.low'] }),
    );
    const answers = await Promise.all(asked);
    assert.equal(answers.filter(({ status }) => status === 200).length, MAX_ENDPOINTS);
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      assertError(refused, 409, 'ERR_TOO_MANY_WEBHOOKS', /10 webhooks/);
    }
    for (const { webhookId } of await list()) await remove(webhookId);
  });
});

describe('another project’s webhook', () => {
  it('does not exist for reads and changes; the company reads it and changes nothing', async () => {
    await using receiver = await openReceiver();
    const { webhook } = await create(receiver.url);
    const { webhookId } = webhook;
    const { deliveryId } = requireOk(await test(webhookId));
    const calls: readonly (readonly [method: string, rest: string, body?: object])[] = [
      ['GET', `/${webhookId}/deliveries`],
      ['PUT', `/${webhookId}`, { state: 'disabled' }],
      ['POST', `/${webhookId}/rotate`, {}],
      ['POST', `/${webhookId}/test`, {}],
      ['POST', `/${webhookId}/deliveries/${deliveryId}/redeliver`, {}],
      ['DELETE', `/${webhookId}`],
    ];
    for (const [method, rest, body] of calls) {
      const foreign = await ask(method, path(rest), stranger.cookie, body);
      assertError(foreign, 404, 'ERR_PROJECT_NOT_FOUND');
      const through = await ask(method, path(rest, stranger), stranger.cookie, body);
      assertError(through, 404, 'ERR_WEBHOOK_NOT_FOUND');
      const company = await ask(method, path(rest), companyCookie, body);
      if (method === 'GET') requireOk(company);
      else assertError(company, 404, 'ERR_PROJECT_NOT_FOUND');
    }
    const { webhook: theirs } = await create(receiver.url, stranger);
    const mixed = path(`/${theirs.webhookId}/deliveries/${deliveryId}/redeliver`, stranger);
    assertError(await ask('POST', mixed, stranger.cookie, {}), 404, 'ERR_WEBHOOK_DELIVERY_NOT_FOUND');
    assertError(await ask('GET', path(), stranger.cookie), 404, 'ERR_PROJECT_NOT_FOUND');
    assert.equal(requireOk(await ask('GET', path(), companyCookie)).webhooks.length, 1);
    assertError(
      await ask('POST', path(), companyCookie, { url: receiver.url, events: ['vault.low'] }),
      404,
      'ERR_PROJECT_NOT_FOUND',
    );
    await remove(webhookId);
  });
});

describe('the audit log of a webhook', () => {
  it('names who changed what, once each, without deliveries, and never contains a secret', async () => {
    await using receiver = await openReceiver();
    const { webhook, secret } = await create(receiver.url);
    const { webhookId } = webhook;
    requireOk(await change(webhookId, { events: ['vault.low'] }));
    requireOk(await change(webhookId, { events: ['vault.low'] }));
    const rotated = requireOk(await ask('POST', path(`/${webhookId}/rotate`), project.cookie, {}));
    const { deliveryId } = requireOk(await test(webhookId));
    requireOk(await ask('POST', path(`/${webhookId}/deliveries/${deliveryId}/redeliver`), project.cookie, {}));
    await remove(webhookId);
    const { entries } = requireOk(await ask('GET', `/projects/${project.projectId}/history`, project.cookie));
    const own = entries.filter(({ subject }: { subject?: string }) => subject === webhookId);
    assert.deepEqual(
      own.map(({ action }: { action: string }) => action),
      ['deleted', 'rotated', 'changed', 'created'].map((did) => `webhook.${did}`),
    );
    const changed = own[2];
    assert.equal(changed.actor, project.wallet.address);
    assert.deepEqual(changed.before.events, ['batch.executed', 'batch.failed']);
    assert.deepEqual(changed.after.events, ['vault.low']);
    const everything = JSON.stringify(entries);
    for (const shown of [secret, rotated.secret]) assert.ok(!everything.includes(shown));
  });
});

describe('a service without a key for webhooks', () => {
  it('creates no webhook and replaces no secret, and does everything else', async () => {
    const { webhook } = await create('http://one.example/');
    await world.restart({ WEBHOOK_KEY: '' });
    const body = { url: 'http://two.example/', events: ['vault.low'] };
    assertError(await ask('POST', path(), project.cookie, body), 503, 'ERR_WEBHOOKS_UNAVAILABLE', /WEBHOOK_KEY_FILE/);
    const rotate = path(`/${webhook.webhookId}/rotate`);
    assertError(await ask('POST', rotate, project.cookie, {}), 503, 'ERR_WEBHOOKS_UNAVAILABLE');
    assert.equal((await list()).length, 1);
    await remove(webhook.webhookId);
    await world.restart({ WEBHOOK_ALLOW_PRIVATE: '' });
    for (const url of ['http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/']) {
      const refused = await ask('POST', path(), project.cookie, { url, events: ['vault.low'] });
      assertError(refused, 400, 'ERR_INVALID_REQUEST', /body\.url (begins with http:|names .*not a public address)/);
    }
  });
});
