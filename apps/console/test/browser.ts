import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Where Linux distributions and CI put it. */
const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = EXECUTABLES.find((path) => existsSync(path));

/** Why browser tests cannot run here; false when they can. */
export const noBrowser: string | false =
  executablePath === undefined &&
  `No Chromium at ${EXECUTABLES.join(' or ')}: apt-get install -y chromium, and run again.`;

export const SIZES = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
} as const;

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained of: uncaught errors, refusals of its policy. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly size?: keyof typeof SIZES;
  readonly colorScheme?: 'light' | 'dark';
}

/** Somebody with a browser: nothing of it is known to any other visit. It is on a page that is not yet anywhere. */
export async function openVisit(
  baseURL: string,
  { size = 'desktop', colorScheme = 'light' }: VisitOptions = {},
): Promise<Visit> {
  browser ??= launch();
  visitors += 1;
  const context = await (await browser).newContext({
    baseURL,
    viewport: SIZES[size],
    colorScheme,
    hasTouch: size === 'phone',
    // What is looked at must not be on its way to another look; what moves has a story of its own.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to|requires 'Trusted/.test(message.text())) complaints.push(message.text());
  });
  return { page, context, complaints, close: () => leave(context) };
}

/** One for all visits of a test file, each with a context of its own; closed by the last to leave. */
let browser: Promise<Browser> | undefined;
let visitors = 0;

async function leave(context: BrowserContext): Promise<void> {
  await context.close();
  visitors -= 1;
  if (visitors > 0) return;
  const left = browser;
  browser = undefined;
  await (await left)?.close();
}

function launch(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('Skip with noBrowser.');
  return chromium.launch({
    executablePath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}

const SCREENSHOTS = fileURLToPath(new URL('../screenshots/', import.meta.url));

/** Keeps what a screen looks like, to be looked at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
