import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

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

/** A browser of its own with an empty profile, on a page that is not yet anywhere. */
export async function openVisit(
  baseURL: string,
  { size = 'desktop', colorScheme = 'light' }: VisitOptions = {},
): Promise<Visit> {
  if (executablePath === undefined) throw new Error('Skip with noBrowser.');
  const profile = await mkdtemp(join(tmpdir(), 'flywheel-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
    baseURL,
    viewport: SIZES[size],
    colorScheme,
    hasTouch: size === 'phone',
    // What is looked at must not be on its way to another look; what moves has a story of its own.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to|requires 'Trusted/.test(message.text())) complaints.push(message.text());
  });
  return {
    page,
    context,
    complaints,
    close: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

const SCREENSHOTS = fileURLToPath(new URL('../screenshots/', import.meta.url));

/** Keeps what a screen looks like, to be looked at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
