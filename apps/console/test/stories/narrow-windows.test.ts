import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { airdropPipeline } from '@flywheel/testing/client';
import { generateKeyPairSigner } from '@solana/kit';
import {
  askApi,
  assertFitsWidth,
  initByApi,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
} from './story.ts';

/** The least width that must do without scrolling sideways (WCAG 1.4.10). */
const NARROWEST = 320;
/** A window of 1,280 by 800 pixels at a zoom of 200 % (WCAG 1.4.4). */
const ZOOMED = { width: 640, height: 400 };
/** Presses of Tab: more than the longest of the screens has controls. */
const STEPS = 60;
/** Margin of the header and of the page, on both sides. */
const MARGIN = 16;
/** A tablet held upright. */
const TABLET = 768;

describe('a narrow window', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
    const to = (await generateKeyPairSigner()).address;
    await initByApi(story, project, [airdropPipeline(to, 123.456789)]);
    const expiresAt = new Date(Date.now() + 100 * 86_400_000).toISOString();
    const key = { name: 'backend, production', scopes: ['burn', 'airdrop'], expiresAt };
    assert.equal((await askApi(person, `/projects/${project.projectId}/keys`, key)).status, 200);
  });
  after(() => story.stop());

  for (const [name, path, text, widths] of [
    ['the overview', '', 'Recent batches', [NARROWEST, TABLET]],
    ['the batches', '/batches', 'Batch 1', [NARROWEST, TABLET]],
    ['the vault', '/vault', 'Needed by open batches', [NARROWEST, TABLET]],
    ['the keys', '/keys', 'backend, production', [TABLET, NARROWEST]],
    ['the settings', '/settings', 'Change history', [NARROWEST, TABLET]],
  ] as const) {
    it(`has room for ${name}`, async () => {
      const { page } = person;
      await page.goto(`/p/${project.projectId}${path}`);
      await page.getByText(text).first().waitFor();
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await assertFitsWidth(page);
      }
    });
  }

  it('has room for the wallet button within the margin of the header, before and after signing in', async () => {
    const stranger = await story.visit();
    for (const [{ page }, name] of [
      [stranger, /^Connect/],
      [person, /^Signed in as/],
    ] as const) {
      await page.setViewportSize({ width: NARROWEST, height: 900 });
      await page.goto('/');
      const button = page.locator('header').getByRole('button', { name });
      await button.waitFor();
      await assertFitsWidth(page);
      const box = await button.boundingBox();
      assert.ok(box && box.x + box.width <= NARROWEST - MARGIN, `it ends at ${box && box.x + box.width} px`);
    }
  });

  it('has room for the first steps of a project', async () => {
    const { page } = person;
    const { projectId } = await register(person);
    await page.setViewportSize({ width: NARROWEST, height: 900 });
    await page.goto(`/p/${projectId}`);
    await page.getByRole('button', { name: /^Local cluster: deposit/ }).waitFor();
    await assertFitsWidth(page);
  });

  it('has room for the whole of a memo without spaces', async () => {
    const { page } = person;
    const message = `https://shop.example/thank-you?for=${'0123456789'.repeat(20)}`;
    const pipeline = { type: 'THANKS', payload: '{}', actions: [{ action: 'MEMO', message }] };
    const batchId = await initByApi(story, project, [pipeline]);
    await page.setViewportSize({ width: NARROWEST, height: 900 });
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    const card = page.getByRole('article');
    await card.locator('button[aria-expanded=false]').click();
    await card.locator('button[aria-expanded=true]').waitFor();
    const [whole, room] = await Promise.all([card.getByText(message).first().boundingBox(), card.boundingBox()]);
    assert.ok(whole && room && whole.x + whole.width <= room.x + room.width, 'it is cut off');
  });

  it('shows whatever has the focus beside its header and its buttons, also at a zoom of 200 %', async () => {
    const { page } = person;
    await page.setViewportSize(ZOOMED);
    for (const [path, text] of [
      ['', 'Recent batches'],
      ['/settings', 'Change history'],
      ['/new', 'How to compose'],
    ] as const) {
      await page.goto(`/p/${project.projectId}${path}`);
      await page.getByText(text).first().waitFor();
      for (const key of ['Tab', 'Shift+Tab']) {
        for (let step = 0; step < STEPS; step += 1) {
          await page.keyboard.press(key);
          assert.equal(await page.evaluate(COVERED), null, `${key} on ${page.url()}`);
        }
      }
    }
  });
});

/** Returns the element with the focus if something else covers all of it (WCAG 2.4.11), or else null. */
const COVERED = `(() => {
  const it = document.activeElement;
  if (it === document.body) return null;
  const { left, top, width, height } = it.getBoundingClientRect();
  const isSeen = [[0.5, 0.5], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]]
    .map(([x, y]) => document.elementFromPoint(left + width * x, top + height * y))
    .some((found) => found !== null && (it.contains(found) || found.contains(it)));
  return isSeen ? null : it.outerHTML.slice(0, 200);
})()`;
