import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { openSite, type Site } from './open-site.ts';

describe('the button of the theme', { skip: noBrowser }, () => {
  let site: Site;
  before(async () => {
    site = await openSite();
    await site.visit.page.goto('/');
  });
  after(() => site?.close());

  const button = (theme: 'light' | 'dark', page = site.visit.page) =>
    page.getByRole('button', { name: `Use the ${theme} theme` });

  it('follows the system while no theme is chosen', async () => {
    const { page } = site.visit;
    await button('dark').waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await button('light').waitFor();
    await page.emulateMedia({ colorScheme: 'light' });
    await button('dark').waitFor();
  });

  it('follows another tab, and so does the page', async () => {
    const other = await site.visit.context.newPage();
    await other.goto('/');
    await button('dark', other).click();
    await button('light').waitFor();
    assert.equal(await site.visit.page.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'dark');
    await other.evaluate('localStorage.clear()');
    await button('dark').waitFor();
  });
});
