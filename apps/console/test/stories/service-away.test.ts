import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '../browser.ts';
import { checkScreenOnBoth, openStory, type Person, type Registered, register, type Story, signIn } from './story.ts';

const API = '**/console/api/**';

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
});
