import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { noBrowser, SIZES, type Visit } from './browser.ts';
import { openSite, type Site } from './open-site.ts';

/** A screen that anyone can open, with an address on it. */
const VAULT = 'So11111111111111111111111111111111111111112';

describe('a hint', { skip: noBrowser }, () => {
  let site: Site;
  let visit: Visit;
  before(async () => {
    site = await openSite();
    visit = site.visit;
  });
  after(() => site?.close());
  beforeEach(async () => {
    await visit.page.goto(`/vault/${VAULT}`);
    await visit.page.mouse.move(0, 0);
  });

  const address = () => visit.page.getByRole('button', { name: 'Copy vault' });
  const hint = () => visit.page.getByRole('tooltip');

  it('says the whole address on hover, describes what it belongs to, and goes with the pointer', async () => {
    await address().hover();
    await hint().waitFor();
    assert.equal(await hint().textContent(), VAULT);
    assert.equal(await address().getAttribute('aria-describedby'), await hint().getAttribute('id'));
    await visit.page.mouse.move(0, 0);
    await hint().waitFor({ state: 'detached' });
  });

  it('stays while the pointer is on it, and goes at Escape', async () => {
    await address().hover();
    await hint().hover();
    // Longer than a hint outlives its pointer.
    await visit.page.waitForTimeout(300);
    assert.ok(await hint().isVisible());
    await visit.page.keyboard.press('Escape');
    await hint().waitFor({ state: 'detached' });
  });

  it('comes with the keyboard’s focus, and goes with it', async () => {
    await address().waitFor();
    while (!(await address().evaluate((element) => element.matches(':focus')))) await visit.page.keyboard.press('Tab');
    await hint().waitFor();
    await visit.page.keyboard.press('Tab');
    await hint().waitFor({ state: 'detached' });
  });

  it('says that it was copied', async () => {
    await address().click();
    await hint().getByText('Copied').waitFor();
  });

  it('keeps within a phone’s window', async () => {
    await visit.page.setViewportSize(SIZES.phone);
    await address().hover();
    await hint().waitFor();
    const box = await hint().boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= SIZES.phone.width, JSON.stringify(box));
    await visit.page.setViewportSize(SIZES.desktop);
  });

  it('needs nothing that the page’s policy refuses', () => assert.deepEqual(visit.complaints, []));
});
