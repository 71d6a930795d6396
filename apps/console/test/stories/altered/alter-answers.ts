import assert from 'node:assert/strict';
import type { APIResponse, Page, Route } from 'playwright-core';

export interface Alteration {
  /** Whose answers: a part of the address, or a pattern in it. No stream of events: those never end. */
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
    const answer = await readAnswer(route);
    if (answer === null) return;
    const body = change(answer.text);
    if (body !== answer.text) changed += 1;
    await route
      .fulfill({ response: answer.response, body, ...(status !== undefined && { status }) })
      // The page has given up on it meanwhile.
      .catch(() => undefined);
  });
  return async () => {
    await page.unroute(isConcerned);
    assert.ok(changed > 0, `Nothing of ${of} was altered.`);
  };
}

/** null when the page has given up on it. */
async function readAnswer(route: Route): Promise<{ readonly response: APIResponse; readonly text: string } | null> {
  try {
    const response = await route.fetch();
    return { response, text: await response.text() };
  } catch {
    return null;
  }
}
