import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { openSite, type Site } from './open-site.ts';

const CODE = '**/assets/proof-*.js';
const API = '**/console/api/**';
const MESSAGE = 'This screen could not be loaded';

describe('a screen whose code is not loaded yet', { skip: noBrowser }, () => {
  let site: Site;
  before(async () => {
    site = await openSite();
  });
  after(() => site?.close());
  afterEach(() => site.visit.page.unrouteAll());

  const open = async () => {
    const { page } = site.visit;
    await page.goto('/');
    await page.evaluate('sessionStorage.clear()');
    await page.getByRole('link', { name: 'Check a proof' }).first().waitFor();
  };
  const click = () => site.visit.page.getByRole('link', { name: 'Check a proof' }).first().click();

  it('says so while the service is away, and is shown once it is back', async () => {
    const { page } = site.visit;
    await open();
    for (const address of [CODE, API]) await page.route(address, (route) => route.abort('connectionrefused'));
    await click();
    await page.getByText(MESSAGE).waitFor();
    assert.ok(await page.getByRole('button', { name: /Find/ }).isVisible(), 'the frame of the page is gone');
    await page.unrouteAll();
    await page.getByRole('heading', { name: 'Check a proof' }).waitFor();
  });

  it('is loaded with a new release, whose code has other names', async () => {
    const { page } = site.visit;
    await open();
    await page.route(CODE, (route) => route.fulfill({ status: 404 }), { times: 1 });
    await click();
    await page.getByRole('heading', { name: 'Check a proof' }).waitFor();
  });

  it('is not asked for without an end, and has a button', async () => {
    const { page } = site.visit;
    await open();
    await page.route(CODE, (route) => route.fulfill({ status: 404 }));
    await click();
    await page.getByText('it may be in the middle of an upgrade').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.getByRole('heading', { name: 'Check a proof' }).waitFor();
  });

  it('does not take the page with it if it is the palette', async () => {
    const { page } = site.visit;
    await open();
    await page.route('**/assets/palette-*.js', (route) => route.abort('connectionrefused'));
    await page.getByRole('button', { name: /Find/ }).click();
    await page.getByRole('dialog', { name: 'Find' }).getByText('Reload the page.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1 }).waitFor();
  });
});
