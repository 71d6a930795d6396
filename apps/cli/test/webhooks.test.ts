import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { CreatedWebhook, Webhook, WebhookDelivery, WebhookDeliveryPage } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { openReceiver, type Receiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import { type CliProject, openCliProject } from './cli-project.ts';
import { runCommand } from './run-command.ts';

describe('flywheel webhooks', () => {
  let world: CliProject;
  let receiver: Receiver;
  let env: CliProject['env'];
  let who: CliProject['who'];
  let run: CliProject['run'];
  let created: CreatedWebhook;

  before(async () => {
    world = await openCliProject({ terms: ['--burn-limit', '10', '--airdrop-limit', '10', '--scopes', 'burn'] });
    ({ env, who, run } = world);
    let answers = 0;
    receiver = await openReceiver((_, response) => {
      answers += 1;
      response.writeHead(answers === 1 ? 410 : 200).end('as you say');
    });
  });
  after(async () => {
    await world?.stop();
    await receiver?.close();
  });

  const say = async (...words: string[]) => (await runCommand(words, env)).stdout;
  const of = () => [...who, '--webhook', created.webhook.webhookId];
  const newest = async (): Promise<WebhookDelivery> => {
    const { deliveries } = await run<WebhookDeliveryPage>('webhooks', 'deliveries', ...of());
    assert.ok(deliveries[0]);
    return deliveries[0];
  };

  it('create works without configuration, with an encryption key that only the service’s user can read', async () => {
    assert.match(await say('webhooks', 'list', ...who), /no webhooks.*flywheel webhooks create/);
    created = await run(
      'webhooks',
      'create',
      ...who,
      '--receiver',
      receiver.url,
      '--events',
      'batch.executed,vault.low',
    );
    assert.deepEqual(created.webhook.events, ['batch.executed', 'vault.low']);
    const { mode } = await stat(join(world.service.folder.path, 'keys', 'webhook.key'));
    assert.equal(mode & 0o777, 0o600);
  });

  it('test sends an event, and deliveries lists its result', async () => {
    const { eventId } = await run<WebhookDelivery>('webhooks', 'test', ...of());
    const [received] = await receiver.until(1);
    assert.ok(received);
    assert.equal(received.id, eventId);
    assert.equal(verifyWebhook(received, created.secret).type, 'webhook.test');
    await waitUntil('it', newest, ({ state }) => state === 'failed');
    const said = await say('webhooks', 'deliveries', ...of(), '--state', 'failed');
    assert.match(said, /failed +1 +410 +webhook\.test/);
    assert.match(said, /answered 410/);
    assert.match(await say('webhooks', 'deliveries', ...of(), '--state', 'delivered'), /No deliveries found/);
    assert.match(await say('webhooks', 'list', ...who), /disabled +webhook\.test failed[\s\S]*answered 410/);
  });

  it('enable, redeliver and disable change what is delivered', async () => {
    assert.equal((await run<Webhook>('webhooks', 'enable', ...of())).state, 'active');
    const { deliveryId, eventId } = await newest();
    assert.match(
      await say('webhooks', 'redeliver', ...of(), '--delivery', deliveryId),
      new RegExp(`again as ${eventId}`),
    );
    const [first, second] = await receiver.until(2);
    assert.equal(second?.id, first?.id);
    const delivered = await waitUntil('it', newest, ({ state }) => state === 'delivered');
    assert.equal(delivered.response, 'as you say');
    assert.match(await say('webhooks', 'disable', ...of()), /is disabled/);
    const { exitCode, stderr } = await runCommand(['webhooks', 'test', ...of()], env);
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /ERR_WEBHOOK_DISABLED|is disabled/);
  });

  it('rotate prints a new secret, and delete removes the webhook', async () => {
    const rotated = await run<CreatedWebhook>('webhooks', 'rotate', ...of(), '--overlap-hours', '2');
    assert.notEqual(rotated.secret, created.secret);
    const hours = (Date.parse(rotated.webhook.previousSecretUntil ?? '') - Date.now()) / 3_600_000;
    assert.ok(hours > 1.9 && hours <= 2);
    assert.match(
      await say('webhooks', 'rotate', ...of(), '--overlap-hours', '0'),
      /whsec_[\s\S]*old secret no longer signs/,
    );
    assert.match(await say('webhooks', 'delete', ...of(), '--yes'), / deleted/);
    assert.deepEqual(await run('webhooks', 'list', ...who), { webhooks: [] });
  });

  it('create lists the valid events after an invalid one', async () => {
    const words = ['webhooks', 'create', ...who, '--receiver', receiver.url, '--events', 'batch.gone'];
    const { exitCode, stderr } = await runCommand(words, env);
    assert.equal(exitCode, 2);
    assert.match(stderr, /Events are batch\.finalized, .*vault\.low/);
  });
});
