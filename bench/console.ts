import { noBrowser, openVisit } from '@flywheel/testing/browser';
import type { CDPSession } from 'playwright-core';
import { openBenchWorld } from './bench-world.ts';
import { type Figures, ms, percentile } from './figures.ts';

const VISITS = 5;

/** Measures the first page for a new visitor, with an empty cache: from this machine, and on a slow line and phone. */
export async function benchConsole(): Promise<Figures> {
  if (noBrowser !== false) throw new Error(noBrowser);
  await import('../apps/console/build-if-stale.ts');
  const world = await openBenchWorld();
  try {
    const here = await visitOften(world.url, 'desktop', async () => undefined);
    const phone = await visitOften(world.url, 'phone', slowDown);
    const { scriptBytes, totalBytes, requests } = here[0] ?? raise();
    return {
      title: `the console’s first page, signed out, ${VISITS} visits with an empty cache`,
      note: 'Interactive: its first button is there and takes clicks. The phone: 1.6 Mbit/s, 150 ms away, a quarter of this CPU.',
      rows: [
        ['JavaScript on the wire', `${kilobytes(scriptBytes)}, brotli`],
        ['all on the wire', `${kilobytes(totalBytes)} in ${requests} requests`],
        ['first paint, p50', ms(median(here.map(({ paintMs }) => paintMs)))],
        ['interactive, p50', ms(median(here.map(({ interactiveMs }) => interactiveMs)))],
        ['first paint on the phone, p50', ms(median(phone.map(({ paintMs }) => paintMs)))],
        ['interactive on the phone, p50', ms(median(phone.map(({ interactiveMs }) => interactiveMs)))],
      ],
    };
  } finally {
    await world.stop();
  }
}

interface Visited {
  readonly scriptBytes: number;
  readonly totalBytes: number;
  readonly requests: number;
  /** Time since the start of the navigation. */
  readonly paintMs: number;
  readonly interactiveMs: number;
}

async function visitOften(
  url: string,
  size: 'desktop' | 'phone',
  prepare: (session: CDPSession) => Promise<void>,
): Promise<Visited[]> {
  const visited: Visited[] = [];
  for (let i = 0; i < VISITS; i++) {
    const { page, context, close } = await openVisit(url, { size });
    await prepare(await context.newCDPSession(page));
    await page.addInitScript(NOTE_INTERACTIVE);
    await page.goto('/', { waitUntil: 'networkidle' });
    // A slow phone still runs scripts after its network has become idle.
    await page.locator('main button').first().waitFor();
    visited.push(requireTimes(await page.evaluate<Partial<Visited>>(READ_TIMES), `Visit ${i + 1} (${size})`));
    await close();
  }
  return visited;
}

/** The page's times, all of which it must have noted: the observer notes none if the page was replaced meanwhile. */
function requireTimes(times: Partial<Visited>, visit: string): Visited {
  const { scriptBytes, totalBytes, requests, paintMs, interactiveMs } = times;
  if (scriptBytes === undefined || totalBytes === undefined || requests === undefined) {
    throw new Error(`${visit} counted no bytes: ${JSON.stringify(times)}`);
  }
  if (paintMs === undefined || interactiveMs === undefined) {
    throw new Error(`${visit} noted no time of its first paint or of its first button: ${JSON.stringify(times)}`);
  }
  return { scriptBytes, totalBytes, requests, paintMs, interactiveMs };
}

/** Applies Lighthouse's slow 4G and slow phone (lighthouse, core/config/constants.js, throttling.mobileSlow4G). */
async function slowDown(session: CDPSession): Promise<void> {
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 150,
    downloadThroughput: (1.6 * 1024 * 1024) / 8,
    uploadThroughput: (750 * 1024) / 8,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

/** React listens at its root before it renders: a visible button accepts clicks. */
const NOTE_INTERACTIVE = `
  new MutationObserver((_changes, observer) => {
    if (!document.querySelector('main button')) return;
    globalThis.interactiveMs = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
`;

const READ_TIMES = `(async () => {
  const paintMs = await new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const [paint] = list.getEntriesByName('first-contentful-paint');
      if (paint) resolve(paint.startTime);
    }).observe({ type: 'paint', buffered: true });
  });
  const resources = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const bytes = (entries) => entries.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
  return {
    scriptBytes: bytes(resources.filter(({ name }) => name.endsWith('.js'))),
    totalBytes: bytes(resources),
    requests: resources.length,
    paintMs,
    interactiveMs: globalThis.interactiveMs,
  };
})()`;

function median(sample: readonly number[]): number {
  return percentile(sample, 0.5);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(0)} kB`;
}

function raise(): never {
  throw new Error('No visit was made.');
}
