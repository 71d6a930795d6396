import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { init } from '@flywheel/testing/client';
import { requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { keepScreenshot, openVisit, SIZES, type Visit, type VisitOptions } from '../browser.ts';

/** A service with its console on a real cluster, and the browsers that visit it. */
export interface Story {
  readonly world: World;
  /** A person with a browser of their own, and so with a wallet of their own. */
  visit(options?: VisitOptions): Promise<Person>;
  stop(): Promise<void>;
}

export interface Person {
  readonly page: Page;
  readonly visit: Visit;
  readonly options: VisitOptions;
}

/** What a person has after registering. */
export interface Registered {
  readonly projectId: string;
  readonly apiKey: string;
  readonly vault: string;
}

export async function openStory(environment: Readonly<Record<string, string>> = {}): Promise<Story> {
  const world = await openWorld(environment);
  const visits: Visit[] = [];
  return {
    world,
    async visit(options = {}) {
      const visit = await openVisit(world.url, options);
      visits.push(visit);
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

/** Keeps a picture of the screen, and holds it to WCAG AA. */
export async function look({ page, options }: Person, name: string): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  await keepScreenshot(page, `${name}-${options.size ?? 'desktop'}-${options.colorScheme ?? 'light'}`);
  await assertAccessible(page);
}

/** As `look`, on a desktop’s screen and on a phone’s. */
export async function lookOnBoth(person: Person, name: string): Promise<void> {
  const { page, options } = person;
  for (const size of ['phone', 'desktop'] as const) {
    await page.setViewportSize(SIZES[size]);
    await look({ ...person, options: { ...options, size } }, name);
  }
}

/** Signs in with the wallet that the page brings on a local cluster; answers the wallet’s address. */
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
  readonly burnLimit?: string;
  readonly airdropLimit?: string;
  readonly byAPerson?: boolean;
  /** Called on each screen of the way. */
  readonly onScreen?: (name: string) => Promise<void>;
}

/** Registers a new token, from the first screen to the key; ends on the project’s overview. */
export async function register({ page }: Person, options: RegisterOptions = {}): Promise<Registered> {
  const { burnLimit = '1000', airdropLimit = '1000', byAPerson = false, onScreen = async () => undefined } = options;
  const next = () => page.getByRole('button', { name: /^Continue/ }).click();
  await page.goto('/register');
  await page.getByRole('button', { name: 'Create a token' }).click();
  await page.getByText('Registration cost').waitFor();
  await onScreen('register-1-token');
  await next();
  await page.getByLabel('Daily burn limit, whole tokens').fill(burnLimit);
  await page.getByLabel('Daily airdrop limit, whole tokens').fill(airdropLimit);
  await onScreen('register-2-limits');
  await next();
  await onScreen('register-3-proof-types');
  await next();
  if (byAPerson) await page.getByText('Manual', { exact: true }).click();
  await onScreen('register-4-approval');
  await next();
  await page.getByText('One-time cost, paid by your wallet').waitFor();
  await onScreen('register-5-review');
  await page.getByRole('button', { name: 'Sign and create the project' }).click();
  await page.getByText('Project created').waitFor();
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

/** Deposits 1 SOL and 1,000 tokens on the vault’s screen. */
export async function fund({ page }: Person, { projectId }: Registered): Promise<void> {
  await page.goto(`/p/${projectId}/vault`);
  await page.getByRole('button', { name: /^Local cluster: deposit/ }).click();
  await page.getByText('Deposited 1 SOL and 1,000 tokens.').waitFor();
}

/** Makes a batch as a project’s own server would; answers its id. */
export async function initByApi(
  { world }: Story,
  { apiKey }: Registered,
  pipelines: readonly unknown[],
): Promise<string> {
  return requireOk(await init(world.url, apiKey, pipelines)).batch.id;
}

/** Opens the approval of a batch and waits until the page has compared it with the chain. */
export async function openApproval({ page }: Person, { projectId }: Registered, batchId: string): Promise<void> {
  await page.goto(`/p/${projectId}/approve/${batchId}`);
  const verdict = page.getByText('Verified: the chain matches this page');
  await verdict.waitFor().catch(async (cause: unknown) => {
    throw new Error(`The page says: ${await page.locator('main').textContent()}`, { cause });
  });
}

/** Asks the service from where the page is, with its session and no other right; with a body, to change something. */
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

/** Signs what `openApproval` has opened. */
export async function approve({ page }: Person): Promise<void> {
  await page.getByRole('button', { name: 'Approve with wallet' }).click();
}
