import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Finds nothing against WCAG 2.1 AA on the page as it is now. */
export async function assertAccessible(page: Page): Promise<void> {
  // Evaluated rather than added as a script: the page's policy takes no script from elsewhere.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(axe, 'utf8'));
  const violations: readonly Violation[] = await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(({ violations }) => violations)",
  );
  const said = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary = '' }) => `${html} ${failureSummary}`).join(' ')}`,
  );
  assert.deepEqual(said, [], `${page.url()}`);
}
