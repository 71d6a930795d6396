import { fileURLToPath } from 'node:url';
import { readSite, startTestServer } from '@flywheel/testing/test-server';
import { openVisit, type Visit } from './browser.ts';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));

/** The built console as it is served, with nothing behind it, and a browser that visits it. */
export interface Site {
  readonly visit: Visit;
  close(): Promise<void>;
}

export async function openSite(): Promise<Site> {
  await import('../build-if-stale.ts');
  const server = await startTestServer({ site: await readSite(DIST) });
  const closeServer = () => server[Symbol.asyncDispose]();
  const visit = await openVisit(server.url).catch(async (cause: unknown) => {
    // A server that listens keeps the process alive: the test would hang instead of failing.
    await closeServer();
    throw cause;
  });
  return {
    visit,
    close: async () => {
      await visit.close();
      await closeServer();
    },
  };
}
