import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { noBrowser, SIZES, type Visit } from '@flywheel/testing/browser';
import { openSite, type Site } from './open-site.ts';

/** Its vault screen is public and shows an address. */
const VAULT = 'So11111111111111111111111111111111111111112';

describe('a tooltip', { skip: noBrowser }, () => {
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
  const tooltip = () => visit.page.getByRole('tooltip');

  it('shows the full address on hover, describes its element, and closes when the pointer leaves', async () => {
    await address().hover();
    await tooltip().waitFor();
    assert.equal(await tooltip().textContent(), VAULT);
    assert.equal(await address().getAttribute('aria-describedby'), await tooltip().getAttribute('id'));
    await visit.page.mouse.move(0, 0);
    await tooltip().waitFor({ state: 'detached' });
  });

  it('stays open while the pointer is on it, and closes on Escape', async () => {
    await address().hover();
    await tooltip().hover();
    // Longer than the delay after which a tooltip closes.
    await visit.page.waitForTimeout(300);
    assert.ok(await tooltip().isVisible());
    await visit.page.keyboard.press('Escape');
    await tooltip().waitFor({ state: 'detached' });
  });

  it('opens on keyboard focus and closes on blur', async () => {
    await address().waitFor();
    while (!(await address().evaluate((element) => element.matches(':focus')))) await visit.page.keyboard.press('Tab');
    await tooltip().waitFor();
    await visit.page.keyboard.press('Tab');
    await tooltip().waitFor({ state: 'detached' });
  });

  it('confirms a copied address', async () => {
    await address().click();
    await tooltip().getByText('Copied').waitFor();
  });

  it('stays inside a phone’s window', async () => {
    await visit.page.setViewportSize(SIZES.phone);
    await address().hover();
    await tooltip().waitFor();
    const box = await tooltip().boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= SIZES.phone.width, JSON.stringify(box));
    await visit.page.setViewportSize(SIZES.desktop);
  });

  it('violates nothing of the page’s policy', () => assert.deepEqual(visit.complaints, []));
});
