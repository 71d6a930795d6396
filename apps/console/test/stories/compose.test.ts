import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { generateKeyPairSigner } from '@solana/kit';
import type { Route } from 'playwright-core';
import { fund, openStory, type Person, type Registered, register, type Story, signIn } from './story.ts';

/** They need more than one thousand pipelines, and fewer than two thousand. */
const RECIPIENTS = 12_000;

describe('composing a batch in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
    await fund(person, project);
  });
  after(() => story.stop());

  it('goes on with the batches of a file after the session has ended between two of them', async () => {
    const { page } = person;
    const recipients = await Promise.all(Array.from({ length: RECIPIENTS }, generateKeyPairSigner));
    const rows = recipients.map(({ address }) => `${address},0.001`).join('\n');
    await page.route('**/batches/preview', sendOnePipeline);
    const keys: (string | undefined)[] = [];
    await page.route(/\/projects\/[^/]+\/batches$/, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      keys.push(route.request().headers()['x-idempotency-key']);
      if (keys.length === 2) await story.world.db.deleteFrom('sessions').execute();
      return sendOnePipeline(route);
    });
    await page.goto(`/p/${project.projectId}/new`);
    await page.getByRole('radio', { name: /^Airdrop from a file/ }).click();
    await page
      .getByLabel(/Drop a CSV file/)
      .setInputFiles({ name: 'season.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) });
    await page.getByText(/^Packed into/).waitFor();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Create 2 batches' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(person);
    await page.getByText('1 of 2 batches created').waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('2 of 2 batches created').waitFor();
    await page.unrouteAll();
    assert.equal(keys.length, 3);
    assert.equal(keys[2], keys[1]);
    assert.notEqual(keys[1], keys[0]);
  });

  it('shows the proof type of a pipeline that was removed meanwhile', async () => {
    const { page } = person;
    let registered = ['REFERRAL', 'WATCH_AD'];
    await page.route('**/settings', async (route) => {
      const response = await route.fetch();
      const proofTypes = registered.map((type) => ({ type }));
      await route.fulfill({ response, json: { ...(await response.json()), proofTypes } });
    });
    await page.goto(`/p/${project.projectId}/new`);
    const type = page.getByLabel('Proof type');
    await type.selectOption('WATCH_AD');
    registered = ['REFERRAL'];
    await page.clock.setFixedTime(Date.now() + 3_600_000);
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    const removed = type.getByText('WATCH_AD (not registered)');
    await removed.waitFor({ state: 'attached' });
    assert.equal(await type.inputValue(), 'WATCH_AD');
    await type.selectOption('REFERRAL');
    await removed.waitFor({ state: 'detached' });
    await page.unrouteAll();
  });
});

/** Sends only the first pipeline of a request on: the service would compile a thousand for seconds. */
async function sendOnePipeline(route: Route): Promise<void> {
  const { pipelines } = route.request().postDataJSON();
  await route.continue({ postData: JSON.stringify({ pipelines: pipelines.slice(0, 1) }) });
}
