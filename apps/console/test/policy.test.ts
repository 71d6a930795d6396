import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser, type Visit } from '@flywheel/testing/browser';
import { openSite, type Site } from './open-site.ts';

const VAULT = '11111111111111111111111111111111';
/** Screens that open without a session. */
const ADDRESSES = ['/', '/register', '/proof', `/vault/${VAULT}`, `/audit/${VAULT}`, '/company', '/p/x/batches'];

describe('the page’s policy', { skip: noBrowser }, () => {
  let site: Site;
  let visit: Visit;
  before(async () => {
    site = await openSite();
    visit = site.visit;
  });
  after(() => site?.close());

  it('allows everything that the console does', async () => {
    const { page, complaints } = visit;
    for (const address of ADDRESSES) {
      await page.goto(address, { waitUntil: 'networkidle' });
      await page.locator('main', { hasText: /\S/ }).waitFor();
    }
    await page.goto('/');
    await page.getByRole('button', { name: 'Find' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Connect wallet' }).first().click();
    await page.locator('dialog[open]').waitFor();
    assert.deepEqual(complaints, []);
  });

  const refused: readonly (readonly [directive: string, what: string, attempt: string])[] = [
    ['require-trusted-types-for', 'markup from text', `document.body.innerHTML = '<img>'`],
    ['connect-src', 'a request to another host', `fetch('https://example.com/').catch(() => undefined)`],
    ['require-trusted-types-for', 'a script of another host', append('script', 'src', 'https://example.com/')],
    ['style-src-elem', 'an inline style', append('style', 'title', 'x')],
    ['img-src', 'an image of another host', append('img', 'src', 'https://example.com/')],
    ['frame-src', 'a frame', append('iframe', 'src', '/docs')],
  ];
  for (const [directive, what, attempt] of refused) {
    it(`blocks ${what}`, async () => {
      const { page } = visit;
      await page.goto('/');
      const violated = await page.evaluate<string>(`new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
        try { ${attempt}; } catch { /* The event reports it. */ }
      })`);
      assert.equal(violated, directive);
    });
  }
});

function append(element: string, attribute: string, value: string): string {
  return `const element = document.createElement('${element}');
    element.append('a{}');
    element.setAttribute('${attribute}', '${value}');
    document.body.append(element)`;
}
