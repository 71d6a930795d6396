import type { CDPSession, Page } from 'playwright-core';

/** The requests that are paused, as the DevTools protocol names them. */
export interface Pattern {
  /** `*` stands for any text and `?` for one character; every URL by default. */
  readonly urlPattern?: string;
  readonly resourceType?: 'Script';
}

export interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a request ends: with a reply, without a service that answers, or as if nothing had paused it. */
export type Ending = Reply | 'refused' | 'unchanged';

type Choose = (url: URL) => Ending;

const sessions = new WeakMap<Page, Set<CDPSession>>();

/**
 * Ends the matching requests of a page before they are sent, until `stopIntercepting`. Unlike `page.route`, it pauses no others
 * and leaves the browser's cache on: a page loads for half of the CPU.
 */
export async function interceptRequests(page: Page, pattern: Pattern, choose: Choose): Promise<void> {
  const session = await page.context().newCDPSession(page);
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    // The page may have cancelled the request, or have been closed.
    void end(session, requestId, choose(new URL(request.url))).catch(() => undefined);
  });
  if (pattern.resourceType === 'Script') {
    // The browser would not ask again for a script that it has loaded before.
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  }
  await session.send('Fetch.enable', { patterns: [{ ...pattern, requestStage: 'Request' }] });
  const ofPage = sessions.get(page) ?? new Set();
  sessions.set(page, ofPage.add(session));
}

/** Stops all interceptions of a page, also those that a failed test has left. Requests that are still paused go on unchanged. */
export async function stopIntercepting(page: Page): Promise<void> {
  for (const session of sessions.get(page) ?? []) {
    await session.send('Fetch.disable');
    await session.detach();
  }
  sessions.delete(page);
}

async function end(session: CDPSession, requestId: string, ending: Ending): Promise<void> {
  if (ending === 'unchanged') await session.send('Fetch.continueRequest', { requestId });
  else if (ending === 'refused')
    await session.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionRefused' });
  else await fulfill(session, requestId, ending);
}

async function fulfill(session: CDPSession, requestId: string, { status, body = '', headers = {} }: Reply) {
  await session.send('Fetch.fulfillRequest', {
    requestId,
    responseCode: status,
    responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
    body: Buffer.from(body).toString('base64'),
  });
}
