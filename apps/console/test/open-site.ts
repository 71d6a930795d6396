import { fileURLToPath } from 'node:url';
import { openVisit, type Visit } from '@flywheel/testing/browser';
import { readSite, startTestServer, type TestServer, type TestServerOptions } from '@flywheel/testing/test-server';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));

/** The built console, served by the real HTTP server without a service behind it, and a visit to it. */
export interface Site {
  readonly server: TestServer;
  readonly visit: Visit;
  close(): Promise<void>;
}

export async function openSite(options: TestServerOptions = {}): Promise<Site> {
  await import('../build-if-stale.ts');
  const server = await startTestServer({ site: await readSite(DIST), ...options });
  const closeServer = () => server[Symbol.asyncDispose]();
  const visit = await openVisit(server.url).catch(async (cause: unknown) => {
    // A server that listens keeps the process alive: the test would hang instead of failing.
    await closeServer();
    throw cause;
  });
  return {
    server,
    visit,
    close: async () => {
      await visit.close();
      await closeServer();
    },
  };
}
