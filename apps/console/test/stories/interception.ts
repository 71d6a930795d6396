import type { CDPSession, Page } from 'playwright-core';

/** The requests that are paused, as the DevTools protocol names them. */
export interface Pattern {
  /** `*` stands for any text and `?` for one character; every URL by default. */
  readonly urlPattern?: string;
  readonly resourceType?: 'Fetch' | 'Script';
}

export interface Reply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a request ends: with a reply, without a service that answers, or as if nothing had paused it. */
export type Ending = Reply | 'refused' | 'unchanged';

type Choose = (url: URL) => Ending;
type Change = (url: URL, text: string) => { readonly body: string; readonly status?: number } | 'unchanged';

const sessions = new WeakMap<Page, Set<CDPSession>>();

/**
 * Ends the matching requests of a page before they are sent. Unlike `page.route`, it pauses no others and leaves the
 * browser's cache on: a page loads for half of the CPU.
 * @returns stops it.
 */
export function interceptRequests(page: Page, pattern: Pattern, choose: Choose): Promise<() => Promise<void>> {
  return pause(page, { ...pattern, requestStage: 'Request' }, async (session, { requestId, request }) => {
    const ending = choose(new URL(request.url));
    if (ending === 'unchanged') await session.send('Fetch.continueRequest', { requestId });
    else if (ending === 'refused')
      await session.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionRefused' });
    else {
      const headers = Object.entries(ending.headers ?? {}).map(([name, value]) => ({ name, value }));
      await fulfill(session, requestId, ending, headers);
    }
  });
}

/** Changes the answers to the requests that a page sends by `fetch`, on their way to it. @returns stops it. */
export function interceptAnswers(page: Page, change: Change): Promise<() => Promise<void>> {
  return pause(page, { resourceType: 'Fetch', requestStage: 'Response' }, async (session, paused) => {
    const { requestId, request, responseStatusCode: status, responseHeaders: headers = [] } = paused;
    const text = status === undefined ? null : await readBody(session, requestId);
    const reply = text === null ? 'unchanged' : change(new URL(request.url), text);
    if (status === undefined || reply === 'unchanged') await session.send('Fetch.continueRequest', { requestId });
    else {
      const kept = headers.filter(({ name }) => !/^content-(length|encoding)$/i.test(name));
      await fulfill(session, requestId, { status, ...reply }, kept);
    }
  });
}

/** Stops all interceptions of a page, also those that a failed test has left. */
export async function stopIntercepting(page: Page): Promise<void> {
  for (const session of sessions.get(page) ?? []) await stop(page, session);
}

type Headers = readonly { readonly name: string; readonly value: string }[];

/** A request that the browser has paused; the fields that are used here. */
interface Paused {
  readonly requestId: string;
  readonly request: { readonly url: string };
  readonly responseStatusCode?: number;
  readonly responseHeaders?: { name: string; value: string }[];
}

async function pause(
  page: Page,
  pattern: Pattern & { readonly requestStage: 'Request' | 'Response' },
  end: (session: CDPSession, paused: Paused) => Promise<void>,
): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  // The page may have cancelled the request, or have been closed.
  session.on('Fetch.requestPaused', (paused) => void end(session, paused).catch(() => undefined));
  if (pattern.resourceType === 'Script') {
    // The browser would not ask again for a script that it has loaded before.
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  }
  await session.send('Fetch.enable', { patterns: [pattern] });
  const ofPage = sessions.get(page) ?? new Set();
  sessions.set(page, ofPage.add(session));
  return () => stop(page, session);
}

async function stop(page: Page, session: CDPSession): Promise<void> {
  if (!sessions.get(page)?.delete(session)) return;
  // Requests that are still paused go on unchanged.
  await session.send('Fetch.disable');
  await session.detach();
}

/** Reads the body of an answer; null if it has none, as a redirect. */
async function readBody(session: CDPSession, requestId: string): Promise<string | null> {
  const answer = await session.send('Fetch.getResponseBody', { requestId }).catch(() => null);
  return answer && (answer.base64Encoded ? Buffer.from(answer.body, 'base64').toString() : answer.body);
}

async function fulfill(session: CDPSession, requestId: string, { status, body = '' }: Reply, headers: Headers) {
  await session.send('Fetch.fulfillRequest', {
    requestId,
    responseCode: status,
    responseHeaders: [...headers],
    body: Buffer.from(body).toString('base64'),
  });
}
