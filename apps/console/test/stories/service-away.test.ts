import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import {
  askApi,
  checkScreenOnBoth,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
} from './story.ts';

const API = '**/console/api/**';
/** The project that a screen is about, and nothing below it. */
const PROJECT = /\/console\/api\/projects\/[0-9a-f-]+$/;

const SESSION_MS = 12 * 3_600_000;

describe('a page whose service is away, in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
  });
  after(() => story.stop());

  it('says since when its data is old, and is up to date when the service is back', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/vault`);
    await page.getByText('Needed by open batches').first().waitFor();
    await page.route(API, (route) => route.abort('connectionrefused'));
    const banner = page.getByRole('alert').filter({ hasText: 'No service answers at' });
    await banner.getByText(/This page shows what it read at .+ It retries by itself\./).waitFor();
    assert.ok(await page.getByText('Needed by open batches').first().isVisible(), 'the last answer is gone');
    await checkScreenOnBoth(person, 'service-away');
    await page.unroute(API);
    await banner.waitFor({ state: 'detached' });
  });

  it('asks to sign in when the session ends meanwhile, and shows its screens again after that', async () => {
    const { page, visit } = person;
    await page.route(API, (route) => route.abort('connectionrefused'));
    await page.clock.setFixedTime(Date.now() + SESSION_MS);
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('Sign in to continue').waitFor();
    assert.equal(await page.getByText('Needed by open batches').first().isVisible(), false);
    await page.clock.setFixedTime(Date.now());
    // Ends it in the service too: a read that the page still repeats would find it otherwise.
    await visit.context.clearCookies();
    await page.unroute(API);
    await signIn(person);
    await page.getByText('Needed by open batches').first().waitFor();
  });

  it('says so while the browser is offline, and sends no change later that a person made meanwhile', async () => {
    const { page, visit } = person;
    // The code of both screens is loaded before.
    await page.goto(`/p/${project.projectId}/vault`);
    await page.getByText('Needed by open batches').first().waitFor();
    await page.getByRole('link', { name: 'Settings' }).first().click();
    await page.getByRole('button', { name: 'Change limits' }).click();
    await page.getByLabel('Daily burn limit, tokens').fill('7');
    await visit.context.setOffline(true);
    await page.getByRole('button', { name: 'Save limits' }).click();
    const refused = page.getByRole('main').getByRole('alert').filter({ hasText: 'No service answers at' });
    await refused.waitFor();
    await page.getByRole('link', { name: 'Vault' }).first().click();
    const unread = page.getByRole('alert').filter({ hasText: 'No service answers at' });
    await unread.first().waitFor();
    await visit.context.setOffline(false);
    await page.getByText('Needed by open batches').first().waitFor();
    await unread.waitFor({ state: 'detached' });
    const settings = await askApi(person, `/projects/${project.projectId}/settings`);
    assert.equal(JSON.parse(settings.text).burnLimit, '1000');
  });

  it('says what an empty list will hold, and how to get the first', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/batches`);
    await page.getByText('No batches yet').waitFor();
    await checkScreenOnBoth(person, 'batches-empty');
    await page.goto(`/p/${project.projectId}/vault`);
    await page.getByText('Needed by open batches').first().waitFor();
  });

  it('says that it repeats a request, and why, until it is answered', async () => {
    const { page } = person;
    const busy = { error: 'ERR_NODE_UNAVAILABLE', message: 'The Solana node is busy.' };
    await page.route(PROJECT, (route) => route.fulfill({ status: 503, headers: { 'retry-after': '5' }, json: busy }), {
      times: 1,
    });
    await page.reload();
    const notice = page.locator('[popover]').filter({ hasText: busy.message });
    await notice.getByText(/Retrying in \d s\./).waitFor();
    await checkScreenOnBoth(person, 'service-busy');
    await page.getByText('Needed by open batches').first().waitFor();
    await notice.waitFor({ state: 'detached' });
  });

  it('shows a refusal at once, also one that names a time to ask again', async () => {
    const { page } = person;
    let requests = 0;
    await page.route(PROJECT, (route) => {
      requests += 1;
      const json = { error: 'ERR_ROTATION_OPEN', message: 'A member of the multisig is being replaced.' };
      return route.fulfill({ status: 409, headers: { 'retry-after': '1' }, json });
    });
    await page.reload();
    await page.getByText('A member of the multisig is being replaced.').first().waitFor();
    assert.equal(requests, 1);
    await checkScreenOnBoth(person, 'service-refuses');
    await page.unroute(PROJECT);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Needed by open batches').first().waitFor();
  });

  it('says so instead of loading without an end', async () => {
    const { page } = person;
    await page.route(API, (route) => route.abort('connectionrefused'));
    await page.reload();
    const banner = page.getByRole('alert').filter({ hasText: 'No service answers at' });
    await banner.getByText('It retries by itself.').waitFor();
    assert.equal(await banner.getByText('This page shows what it read').count(), 0);
    await checkScreenOnBoth(person, 'service-away-at-first');
    await page.unroute(API);
    await page.getByText('Needed by open batches').first().waitFor();
    await banner.waitFor({ state: 'detached' });
  });

  it('says that it may be in an upgrade when a service of another release refuses a field', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/settings`);
    await page.getByRole('button', { name: 'Change limits' }).click();
    await page.getByLabel('Daily burn limit, tokens').fill('8');
    await page.route('**/limits', (route) =>
      route.continue({ postData: { ...route.request().postDataJSON(), addedLater: true } }),
    );
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByRole('alert').filter({ hasText: 'of different releases' }).waitFor();
    await checkScreenOnBoth(person, 'service-upgrades');
    await page.unroute('**/limits');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('8 tokens').first().waitFor();
  });
});
