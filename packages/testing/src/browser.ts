import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Paths of Linux distributions and CI images. The shell has no windows, and takes a third less CPU for a story. */
const EXECUTABLES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(
  (name) => `/usr/bin/${name}`,
);
const executablePath = EXECUTABLES.find((path) => existsSync(path));

/** Reason to skip browser tests here; false when they can run. */
export const noBrowser: string | false =
  executablePath === undefined &&
  `No Chromium at ${EXECUTABLES.join(' or ')}: run apt-get install -y chromium-headless-shell, then retry.`;

export const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;

/** No story depends on an idle machine: what takes a second there may take a minute beside other work. */
const TIMEOUT_MS = 120_000;

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Uncaught errors, violations of the page’s policy, and scripts that could not be loaded, in order. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly size?: keyof typeof SIZES;
  readonly colorScheme?: 'light' | 'dark';
}

/** Opens a browser context that shares nothing with other visits, with one blank page. */
export async function openVisit(
  baseURL: string,
  { size = 'desktop', colorScheme = 'light' }: VisitOptions = {},
): Promise<Visit> {
  browser ??= launch();
  visits += 1;
  const context = await (await browser).newContext({
    baseURL,
    viewport: SIZES[size],
    colorScheme,
    hasTouch: size === 'phone',
    // Checks of a screen must not depend on the progress of an animation; one story tests the animations.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A page that is left aborts what it still loads.
    if (request.resourceType() === 'script' && reason !== 'net::ERR_ABORTED') {
      complaints.push(`${request.url()}: ${reason}`);
    }
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to|requires 'Trusted/.test(message.text())) complaints.push(message.text());
  });
  return { page, context, complaints, close: () => closeVisit(context) };
}

/**
 * One per test file: to share one between processes, another process would have to pass on all that a test and its browser say,
 * which takes more CPU than launches. Each visit has a context of its own, and the last one to close closes the browser.
 */
let browser: Promise<Browser> | undefined;
let visits = 0;

async function closeVisit(context: BrowserContext): Promise<void> {
  await context.close();
  visits -= 1;
  if (visits > 0) return;
  const idle = browser;
  browser = undefined;
  await (await idle)?.close();
}

function launch(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('Skip browser tests with noBrowser.');
  return chromium.launch({
    executablePath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}
