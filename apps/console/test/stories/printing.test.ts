import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { airdropPipeline } from '@flywheel/testing/client';
import { generateKeyPairSigner } from '@solana/kit';
import { fund, initByApi, openStory, type Person, register, type Story, signIn, takePrint } from './story.ts';

/** More than a screen shows at once. */
const PIPELINES = 36;
/** A4 without its margins, in pixels. */
const SHEET = { width: 718, height: 1_046 };

describe('a printed batch', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let recipient: string;
  before(async () => {
    story = await openStory();
    person = await story.visit({ colorScheme: 'dark' });
    const { page } = person;
    await signIn(person);
    const project = await register(person);
    await fund(person, project);
    recipient = (await generateKeyPairSigner()).address;
    const pipelines = Array.from({ length: PIPELINES }, () => airdropPipeline(recipient, 1));
    const batchId = await initByApi(story, project, pipelines);
    await page.evaluate("localStorage.setItem('flywheel.theme', 'dark')");
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    await page.getByText('Waiting for you').first().waitFor();
  });
  after(() => story.stop());

  it('has all pipelines, of which a screen shows some', async () => {
    const { page } = person;
    const countAll = () => page.locator('article').count();
    const before = await countAll();
    assert.ok(before < PIPELINES, `${before} on the screen`);
    await page.evaluate(
      "addEventListener('beforeprint', () => { globalThis.onPaper = document.querySelectorAll('article').length })",
    );
    await takePrint(person, 'batch');
    assert.equal(await page.evaluate('globalThis.onPaper'), PIPELINES);
    assert.equal(await countAll(), before);
  });

  it('is light, has whole addresses, and nothing to click', async () => {
    const { page } = person;
    await page.setViewportSize(SHEET);
    await page.emulateMedia({ media: 'print' });
    const [lightness, address] = await page.evaluate<[number, string]>(`(() => {
      const [red] = getComputedStyle(document.body).color.match(/\\d+/g).map(Number);
      const recipient = document.querySelector('article [data-whole]');
      return [red, recipient ? getComputedStyle(recipient, '::after').content : ''];
    })()`);
    assert.ok(lightness < 60, `ink of lightness ${lightness}`);
    assert.match(address, new RegExp(recipient));
    // The bar with the buttons of a phone, which is as narrow as a sheet.
    const bars = await page.evaluate(`[...document.querySelectorAll('main *')]
      .filter((it) => getComputedStyle(it).position === 'sticky' && it.checkVisibility()).length`);
    assert.equal(bars, 0);
    for (const role of ['banner', 'navigation', 'search'] as const) {
      assert.equal(await page.getByRole(role).filter({ visible: true }).count(), 0, role);
    }
    assert.equal(
      await page
        .getByRole('button', { name: /^(Cancel|Download|Review)/ })
        .filter({ visible: true })
        .count(),
      0,
    );
  });
});
