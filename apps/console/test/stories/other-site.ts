import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openVisit, type VisitOptions } from '@flywheel/testing/browser';
import { type Registered, type Story, takeScreenshot } from './story.ts';

/** Asserts that a page of another origin shows a vault's badge and widget, and can put no other page into a frame. */
export async function isShownElsewhere(
  { world }: Story,
  { vault }: Registered,
  { burned, options }: { readonly burned: string; readonly options: VisitOptions },
): Promise<void> {
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end(
      `<!doctype html><title>Another site</title><meta name="color-scheme" content="light dark">
       <p><img src="${world.url}/embed/${vault}/badge.svg" alt="badge"></p>
       <iframe name="widget" src="${world.url}/embed/${vault}" width="320" height="200" style="border:0"></iframe>
       <iframe name="console" src="${world.url}/vault/${vault}"></iframe>`,
    );
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const { port } = site.address() as AddressInfo; // a TCP server that listens has one
  const visit = await openVisit(`http://127.0.0.1:${port}`, options);
  const { page } = visit;
  await page.goto('/');
  await page.frameLocator('[name=widget]').getByText(`${burned} tokens`).waitFor();
  await page.frameLocator('[name=widget]').getByText('Last proof').waitFor();
  assert.ok((await page.evaluate<number>('document.images[0].naturalWidth')) > 60, 'the badge is not shown');
  await takeScreenshot({ page, visit, options }, 'another-site');
  assert.equal(await page.frameLocator('[name=console]').getByText('Vault').count(), 0);
  assert.ok(
    visit.complaints.some((text) => text.includes("frame-ancestors 'none'")),
    String(visit.complaints),
  );
  assert.ok(!visit.complaints.some((text) => text.includes('/embed/')), String(visit.complaints));
  await visit.close();
  site.closeAllConnections();
  site.close();
}
