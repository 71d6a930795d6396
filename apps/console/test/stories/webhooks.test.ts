import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Webhook } from '@flywheel/api';
import { noBrowser } from '@flywheel/testing/browser';
import { openReceiver, type Receiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import { holdRequests } from './alterations.ts';
import { askApi, checkScreen, checkScreenOnBoth, openStory, register, type Story, signIn } from './story.ts';

const ENVIRONMENT = { WEBHOOK_KEY: Buffer.alloc(32, 7).toString('base64'), WEBHOOK_ALLOW_PRIVATE: '1' };

describe('webhooks in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let receiver: Receiver;
  let status = 200;
  before(async () => {
    story = await openStory(ENVIRONMENT);
    receiver = await openReceiver((_, response) => response.writeHead(status).end('{"taken":true}'));
  });
  after(async () => {
    await story.stop();
    await receiver.close();
  });

  it('are created with a secret that is shown once, and tested, and show the receiver’s answer', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    await page.goto(`/p/${projectId}/settings`);
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByLabel('Endpoint URL').fill('ftp://example.com/');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    const rejection = page.getByText('The endpoint URL begins with ftp://');
    await rejection.waitFor();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await rejection.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Endpoint URL').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByLabel('A batch expired').click();
    await checkScreenOnBoth(person, 'webhook-create');
    // The secret is shown only once: it waits for no list that is read again.
    const history = await holdRequests(page, '**/history*');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await history.reached;
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    history.release();
    await checkScreen(person, 'webhook-secret');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('Nothing sent yet').waitFor();

    await page.getByRole('button', { name: 'Send a test event' }).click();
    const [received] = await receiver.until(1);
    assert.ok(received);
    assert.equal(verifyWebhook(received, secret).type, 'webhook.test');
    await page.getByText('Accepting events').waitFor();
    await page.getByText('Request and response').click();
    await page.getByText('{"taken":true}').waitFor();
    await page.getByText('Created a webhook').waitFor();
    await checkScreenOnBoth(person, 'webhook-delivered');
    assert.ok(!(await page.content()).includes(secret));

    await page.getByRole('button', { name: 'Redeliver: webhook.test' }).click();
    const [first, second] = await receiver.until(2);
    assert.equal(second?.id, first?.id);
  });

  it('keep a change of another tab when their other field is changed', async () => {
    const person = await story.visit();
    const { page, visit } = person;
    await signIn(person);
    const { projectId } = await register(person);
    const url = 'https://shop.example/flywheel';
    const webhooks = `/projects/${projectId}/webhooks`;
    assert.equal((await askApi(person, webhooks, { url, events: ['batch.failed', 'batch.expired'] })).status, 200);
    const other = await visit.context.newPage();
    for (const tab of [page, other]) {
      await tab.goto(`/p/${projectId}/settings`);
      await tab.getByRole('button', { name: 'Change', exact: true }).click();
    }
    await other.getByLabel('Endpoint URL').fill(`${url}/2`);
    await other.getByRole('button', { name: 'Save webhook' }).click();
    await other.getByRole('heading', { name: `${url}/2` }).waitFor();
    await page.getByLabel('A batch expired').click();
    // An answer that came after the dialog was closed would close the next one, perhaps with a secret that is shown once.
    const change = await holdRequests(page, /webhooks\/[\w-]+$/);
    await page.getByRole('button', { name: 'Save webhook' }).click();
    await change.reached;
    await page.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    assert.ok(await page.getByRole('dialog').isVisible());
    change.release();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { text } = await askApi(person, webhooks);
    const [saved] = (JSON.parse(text) as { readonly webhooks: readonly Webhook[] }).webhooks;
    assert.deepEqual([saved?.url, saved?.events.includes('batch.expired')], [`${url}/2`, false]);
  });

  it('show exhausted deliveries with reasons, are disabled and enabled, and deleted after their name is entered', async () => {
    const person = await story.visit({ size: 'phone', colorScheme: 'dark' });
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    await page.goto(`/p/${projectId}/settings`);
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have stored it' }).click();

    await page.getByRole('button', { name: 'Replace the secret' }).click();
    const history = await holdRequests(page, '**/history*');
    await page.getByRole('button', { name: 'Create the new secret' }).click();
    await history.reached;
    const next = (await page.getByTestId('secret').textContent()) ?? '';
    history.release();
    assert.notEqual(next, secret);
    await checkScreen(person, 'webhook-rotated');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('Also signed with the old secret until').waitFor();

    status = 410;
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('Disabled: no events are queued').waitFor();
    await page.getByText('The receiver answered 410').first().waitFor();
    await checkScreenOnBoth(person, 'webhook-gone');
    status = 204;
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Redeliver: webhook.test' }).click();
    await page.getByText('Accepting events').waitFor();

    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await page.getByText('New events are not queued').waitFor();
    await checkScreen(person, 'webhook-disable');
    await page.getByRole('button', { name: 'Disable the webhook' }).click();
    await page.getByText('Disabled: no events are queued').waitFor();

    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByLabel(/^Type/).fill(new URL(receiver.url).host);
    await page.getByRole('button', { name: 'Delete the webhook' }).click();
    await page.getByText('No webhooks yet').waitFor();
  });
});
