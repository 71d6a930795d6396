import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { openStory, type Story } from './story.ts';

describe('the console in the colours of the system', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  it('shows which item of the palette and which of two choices is chosen', async () => {
    const { page } = await story.visit();
    await page.emulateMedia({ forcedColors: 'active' });
    // Without its opacity: a browser draws the system's colour behind all texts.
    const backOf = (selector: string) =>
      page.evaluate(
        `getComputedStyle(document.querySelector('${selector}')).backgroundColor.match(/\\d+/g).slice(0, 3)`,
      );
    await page.goto('/proof');
    await page.getByRole('button', { pressed: true }).waitFor();
    assert.notDeepEqual(await backOf('main [aria-pressed=true]'), await backOf('main [aria-pressed=false]'));
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    assert.notDeepEqual(
      await backOf('[role=option][aria-selected=true]'),
      await backOf('[role=option][aria-selected=false]'),
    );
  });
});
