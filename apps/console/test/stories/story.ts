import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openVisit, SIZES, type Visit, type VisitOptions } from '@flywheel/testing/browser';
import { init } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { sharedBank } from '@flywheel/testing/shared-bank';
import { openWorld, type World } from '@flywheel/testing/world';
import { address } from '@solana/kit';
import { findAssociatedTokenPda } from '@solana-program/token';
import type { Page } from 'playwright-core';

/** A running service with its console, and the people who visit it. */
export interface Story {
  readonly world: World;
  /** Opens a browser context of its own, so that each person has a wallet of their own. */
  visit(options?: VisitOptions): Promise<Person>;
  stop(): Promise<void>;
}

export interface Person {
  readonly page: Page;
  readonly visit: Visit;
  readonly options: VisitOptions;
}

/** A registered project. */
export interface Registered {
  readonly projectId: string;
  readonly apiKey: string;
  readonly vault: string;
}

export async function openStory(environment: Readonly<Record<string, string>> = {}): Promise<Story> {
  return tellStory(await openWorld(environment));
}

/** A story in a world that the test has opened. It stops the world at its end. */
export function tellStory(world: World): Story {
  const visits: Visit[] = [];
  return {
    world,
    async visit(options = {}) {
      const visit = await openVisit(world.url, options);
      visits.push(visit);
      await routeBankCalls(visit, world);
      await visit.page.goto('/');
      return { page: visit.page, visit, options };
    },
    async stop() {
      const complaints = visits.flatMap((visit) => visit.complaints);
      for (const visit of visits) await visit.close();
      await world.stop();
      assert.deepEqual(complaints, []);
    },
  };
}

/** Answers a page's calls of what only the local cluster gives away, if all tests share another one. */
async function routeBankCalls({ context }: Visit, { localnet }: World): Promise<void> {
  const answer = sharedBank(localnet);
  if (answer === null) return;
  await context.route(
    ({ href }) => href.startsWith(localnet.url),
    async (route) => {
      const json = await answer(route.request().postDataJSON() ?? {});
      await (json === null ? route.fallback() : route.fulfill({ json, headers: CORS }));
    },
  );
}

/** The headers that let a page read an answer of another origin. */
export const CORS = { 'access-control-allow-origin': '*' };

/** Asserts that a screen follows WCAG 2.1 AA, in the person’s size and theme; takes screenshots as well. */
export async function checkScreen(person: Person, name: string): Promise<void> {
  await takeScreenshot(person, name);
  await assertSound(person.page);
}

/** The same on a desktop’s and on a phone’s window. */
export async function checkScreenOnBoth(person: Person, name: string): Promise<void> {
  await takeScreenshot(person, name);
  for (const size of ['phone', 'desktop'] as const) {
    await person.page.setViewportSize(SIZES[size]);
    await assertSound(person.page);
  }
}

/** The same in the dark theme on a phone and in the light one on a desktop: both themes and sizes in two checks. */
export async function checkScreenInThemes(person: Person, name: string): Promise<void> {
  const { page, options } = person;
  await takeScreenshot(person, name);
  for (const [size, colorScheme] of [
    ['phone', 'dark'],
    ['desktop', 'light'],
  ] as const) {
    await page.setViewportSize(SIZES[size]);
    await page.emulateMedia({ colorScheme });
    await assertSound(page);
  }
  await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
}

async function assertSound(page: Page): Promise<void> {
  await assertAccessible(page);
  await assertFitsWidth(page);
  await assertFitsFingers(page);
}

const SCREENSHOTS = fileURLToPath(new URL('../../screenshots/', import.meta.url));

/**
 * Saves screenshots of a screen in both sizes and both themes below apps/console/screenshots if FLYWHEEL_SCREENSHOTS=1;
 * alone for a screen whose accessibility another story checks.
 */
export async function takeScreenshot({ page, options }: Person, name: string): Promise<void> {
  if (process.env.FLYWHEEL_SCREENSHOTS !== '1') return;
  const before = page.viewportSize();
  for (const size of ['phone', 'desktop'] as const) {
    await page.setViewportSize(SIZES[size]);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate('scrollTo(0, 0)');
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${size}-${colorScheme}.png`), fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
  if (before) await page.setViewportSize(before);
}

/** Prints a screen, and saves that below apps/console/screenshots if FLYWHEEL_SCREENSHOTS=1. */
export async function takePrint({ page }: Person, name: string): Promise<void> {
  const isKept = process.env.FLYWHEEL_SCREENSHOTS === '1';
  await page.pdf({ format: 'A4', ...(isKept && { path: join(SCREENSHOTS, `${name}.pdf`) }) });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

async function assertAccessible(page: Page): Promise<void> {
  // Evaluated and not added as a script, which the page’s policy would reject. Once a document: it has 560 kB.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(AXE);
  const violations: readonly Violation[] = await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  const messages = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary = '' }) => `${html} ${failureSummary}`).join(' ')}`,
  );
  assert.deepEqual(messages, [], page.url());
}

/** Asserts that neither the page nor an open dialog is wider than its window, which would cut text off. */
export async function assertFitsWidth(page: Page): Promise<void> {
  // A page hears of its new size before its next frame, and scrolls to the current tab then.
  await page.waitForFunction(`innerWidth === ${page.viewportSize()?.width}`);
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  const tooWide = await page.evaluate(
    "[document.documentElement, ...document.querySelectorAll('dialog[open]')].filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.localName + ': ' + it.scrollWidth + ' px in ' + it.clientWidth + ' px')",
  );
  assert.deepEqual(tooWide, [], page.url());
  // A screen without a link in the row of its project has none that is current.
  const isTabSeen = await page.evaluate(`[...document.querySelectorAll('nav [aria-current=page]')]
    .map((it) => it.getBoundingClientRect()).every(({ left, right }) => left >= 0 && right <= innerWidth)`);
  assert.ok(isTabSeen, `the current tab is out of view: ${page.url()}`);
}

/** Height of a control that a finger hits, in pixels. */
const FINGER_PX = 44;

/** Asserts that controls on a phone are as high as a finger needs. Links inside a sentence are as high as its lines. */
async function assertFitsFingers(page: Page): Promise<void> {
  if ((page.viewportSize()?.width ?? 0) > SIZES.phone.width) return;
  const tooSmall = await page.evaluate(`(() => {
    const root = document.querySelector('dialog:modal') ?? document;
    const controls = [...root.querySelectorAll('button, summary, select, textarea, input:not([type=range]), a[href]')];
    const heightOf = (control) => {
      const { height } = control.getBoundingClientRect();
      const { content, position, top, bottom } = getComputedStyle(control, '::before');
      return content === 'none' || position !== 'absolute' ? height : height - parseFloat(top) - parseFloat(bottom);
    };
    return controls
      .filter((it) => it.checkVisibility({ visibilityProperty: true }) && getComputedStyle(it).display !== 'inline')
      .filter((it) => it.closest('.sr-only') === null)
      .map((it) => [it, Math.max(heightOf(it), ...[...(it.labels ?? [])].map(heightOf))])
      .filter(([, height]) => height < ${FINGER_PX})
      .map(([it, height]) => height + ' px: ' + it.outerHTML.slice(0, 200));
  })()`);
  assert.deepEqual(tooSmall, [], page.url());
}

/** Signs in with the test wallet of the local cluster. @returns the wallet’s address. */
export async function signIn({ page }: Person): Promise<string> {
  await page
    .getByRole('button', { name: /^Connect/ })
    .first()
    .click();
  await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
  await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
  const session: { wallet: string } = await page.evaluate(
    "fetch('/console/api/session').then((answer) => answer.json())",
  );
  return session.wallet;
}

export interface RegisterOptions {
  /** A mint whose holder can freeze the vault; a new one of the local cluster, without that risk, by default. */
  readonly frozenBy?: { readonly mint: string; readonly freezeAuthority: string };
  readonly burnLimit?: string;
  readonly airdropLimit?: string;
  readonly isManual?: boolean;
  /** Called on each screen of the registration. */
  readonly onScreen?: (name: string) => Promise<void>;
}

/** Creates a token and registers a project for it; ends on the project’s overview. */
export async function register({ page }: Person, options: RegisterOptions = {}): Promise<Registered> {
  const { onScreen = async () => undefined } = options;
  await openRegistrationReview(page, options);
  await page.getByText('One-time cost, paid by your wallet').waitFor();
  await onScreen('register-5-review');
  await page.getByRole('button', { name: 'Sign and create the project' }).click();
  await page.getByText('Project created').waitFor();
  const steps = page.getByRole('navigation', { name: 'Steps' }).getByRole('button');
  assert.equal(await steps.and(page.locator(':enabled')).count(), 0, 'a step back would lose the key');
  await page.getByRole('navigation', { name: 'Steps' }).getByText('Created').waitFor({ state: 'attached' });
  await onScreen('register-6-created');
  const apiKey = /fwk_[A-Za-z0-9]{49}/.exec((await page.locator('main').textContent()) ?? '')?.[0];
  assert.ok(apiKey, 'no API key is shown');
  const vault = (await page.getByTestId('vault-address').textContent())?.trim() ?? '';
  await page.getByRole('link', { name: 'I have stored the key' }).click();
  await page.waitForURL(/\/p\/[0-9a-f-]{36}\/?$/);
  const projectId = /\/p\/([0-9a-f-]{36})/.exec(page.url())?.[1];
  assert.ok(projectId, page.url());
  return { projectId, apiKey, vault };
}

/** Creates a token and fills in the form of a registration, up to its last step. */
export async function openRegistrationReview(page: Page, options: RegisterOptions = {}): Promise<void> {
  const { burnLimit = '1000', airdropLimit = '1000', isManual = false, onScreen = async () => undefined } = options;
  const { frozenBy } = options;
  const next = () => page.getByRole('button', { name: /^Continue/ }).click();
  await page.goto('/register');
  if (frozenBy === undefined) await page.getByRole('button', { name: 'Create a token' }).click();
  else {
    await page.getByRole('button', { name: 'Get 2 SOL' }).click();
    await page.getByText('Received 2 SOL').waitFor();
    await page.getByLabel('Mint address').fill(frozenBy.mint);
    await showsFreezeRisk(page, frozenBy.freezeAuthority);
  }
  await page.getByText('Registration cost', { exact: true }).waitFor();
  await onScreen('register-1-token');
  await next();
  await page.getByLabel('Daily burn limit, tokens').fill(burnLimit);
  await page.getByLabel('Daily airdrop limit, tokens').fill(airdropLimit);
  await onScreen('register-2-limits');
  await next();
  await onScreen('register-3-proof-types');
  await next();
  if (isManual) await page.getByText('Manual', { exact: true }).click();
  await onScreen('register-4-approval');
  await next();
}

/** Waits until a page says who can freeze the vault. Pages shorten addresses. */
export async function showsFreezeRisk(page: Page, freezeAuthority: string): Promise<void> {
  await page
    .getByText(new RegExp(`freeze authority, ${freezeAuthority.slice(0, 4)}\\S+, can freeze the vault`))
    .waitFor();
}

/** Deposits 1 SOL and 1,000 tokens on the vault’s screen. */
export async function fund({ page }: Person, { projectId }: Registered): Promise<void> {
  await page.goto(`/p/${projectId}/vault`);
  await page.getByRole('button', { name: /^Local cluster: deposit/ }).click();
  await page.getByText('Deposited 1 SOL and 1,000 tokens.').waitFor();
}

/** Creates a batch through the API. @returns its id. */
export async function initByApi(
  { world }: Story,
  { apiKey }: Registered,
  pipelines: readonly unknown[],
): Promise<string> {
  return requireOk(await init(world.url, apiKey, pipelines)).batch.id;
}

/** Opens the approval of a batch and waits until the page has verified it against the chain. */
export async function openApproval(person: Person, { projectId }: Registered, batchId: string): Promise<void> {
  await person.page.goto(`/p/${projectId}/approve/${batchId}`);
  await untilVerified(person);
}

/** Waits until an approval’s page has verified the batch. @throws Error with what the page says instead. */
export async function untilVerified({ page }: Person): Promise<void> {
  const verdict = page.getByText('Verified: the chain matches this page');
  await verdict.waitFor().catch(async (cause: unknown) => {
    throw new Error(`${page.url()} says: ${await page.locator('main').textContent()}`, { cause });
  });
}

/** Calls the service from the page, with the person’s session: POST with a body, GET without. */
export function askApi(
  { page }: Person,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { 'content-type': 'application/json', 'x-idempotency-key': randomUUID() };
  const request = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const place = JSON.stringify(`/console/api${path}`);
  return page.evaluate(
    `fetch(${place}, ${JSON.stringify(request)}).then(async (it) => ({ status: it.status, text: await it.text() }))`,
  );
}

/** Signs the batch that `openApproval` opened. */
export async function approve({ page }: Person): Promise<void> {
  await page.getByRole('button', { name: 'Approve with wallet' }).click();
}

/** The token of a project. */
export function tokenOf({ world }: Story, { projectId }: Registered) {
  return world.db
    .selectFrom('tokens')
    .select(['mint', 'decimals', 'program_address as tokenProgram'])
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
}

/** Base units of a project’s token that an address holds on chain; 0 without a token account. */
export async function tokensOf(story: Story, project: Registered, owner: string): Promise<bigint> {
  const { world } = story;
  const { mint, tokenProgram } = await tokenOf(story, project);
  const [account] = await findAssociatedTokenPda({ mint, tokenProgram, owner: address(owner) });
  const found = await world.rpc.getAccountInfo(account, { encoding: 'base64', commitment: 'confirmed' }).send();
  if (!found.value) return 0n;
  const { value } = await world.rpc.getTokenAccountBalance(account, { commitment: 'confirmed' }).send();
  return BigInt(value.amount);
}

/** Lamports that an address holds on chain. */
export async function lamportsOf({ world }: Story, owner: string): Promise<bigint> {
  const { value } = await world.rpc.getBalance(address(owner), { commitment: 'confirmed' }).send();
  return value;
}

/** Base units in one token of a mint that the registration page created. */
export const BASE_UNITS = 1_000_000n;

/** Enters an address that the page does not know; a wrong one first. */
export async function trust({ page }: Person, of: 'vault' | 'company', known: string): Promise<void> {
  const field = page.getByLabel(`Address of the ${of}, as you know it from elsewhere`);
  const button = page.getByRole('button', { name: `Trust this ${of}` });
  await field.fill('1'.repeat(known.length));
  await page.getByText(`This page shows another ${of}.`).waitFor();
  assert.equal(await button.isDisabled(), true);
  await field.fill(known);
  await button.click();
}

/** Asserts that a page asks before its person goes home or loads it again, and stays. */
export async function asksBeforeItIsLeft({ page }: Person): Promise<void> {
  for (const leave of ["document.querySelector('header a').click()", 'location.reload()']) {
    const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss());
    await page.evaluate(leave);
    await asked;
  }
}

/** Counts the signatures of the page's wallet since the page was loaded. */
export async function countSignatures({ visit }: Person): Promise<void> {
  await visit.context.addInitScript(`
    globalThis.signaturesMade = 0;
    const { sign } = SubtleCrypto.prototype;
    SubtleCrypto.prototype.sign = function (...given) {
      globalThis.signaturesMade += 1;
      return sign.apply(this, given);
    };
  `);
}
