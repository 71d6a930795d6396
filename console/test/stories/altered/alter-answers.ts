import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

export interface Alteration {
  /** Whose answers: a part of the address, or a pattern in it. */
  readonly of: string | RegExp;
  /** What is answered instead, from what was answered. */
  readonly change: (text: string) => string;
  /** The original’s by default. */
  readonly status?: number;
}

/** Alters answers on their way to the page. @returns the way back, which makes sure that something was altered. */
export async function alterAnswers(page: Page, { of, change, status }: Alteration): Promise<() => Promise<void>> {
  let changed = 0;
  const isConcerned = ({ href }: URL) => (typeof of === 'string' ? href.includes(of) : of.test(href));
  await page.route(isConcerned, async (route) => {
    const answer = await route.fetch();
    const before = await answer.text();
    const after = change(before);
    if (after !== before) changed += 1;
    await route.fulfill({ response: answer, body: after, ...(status !== undefined && { status }) });
  });
  return async () => {
    await page.unroute(isConcerned);
    assert.ok(changed > 0, `Nothing of ${of} was altered.`);
  };
}
