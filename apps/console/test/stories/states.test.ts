import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import type { Locator } from 'playwright-core';
import { type Ending, interceptRequests, stopIntercepting } from './interception.ts';
import {
  checkScreenInThemes,
  initByApi,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
} from './story.ts';

interface Empty {
  readonly name: string;
  readonly path: string;
  /** Sentences that say what will be here. */
  readonly says: readonly (string | RegExp)[];
  /** Answers that the service would give only after more work, by the end of their URL. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

interface Screen {
  readonly path: string;
  /** Name of the file that has its code. */
  readonly code: string;
  /** A text that the screen shows when all works. */
  readonly shows: string | RegExp;
  /** Requests below `/console/api` whose failure the screen says in its own place, each alone; none if the page says it for the whole screen. */
  readonly reads: readonly RegExp[];
}

/** Before the wallet has a project. */
const NEW_WALLET: readonly Empty[] = [
  { name: 'projects', path: '/', says: ['No projects yet', 'Register a project'] },
  { name: 'register', path: '/register', says: ['Mint address'] },
  { name: 'company', path: '/company', says: ['No batches waiting for the company'] },
  { name: 'company-projects', path: '/company/projects', says: ['No projects yet'] },
  { name: 'company-jobs', path: '/company/jobs', says: ['No open jobs'] },
  {
    name: 'company-audit',
    path: '/company/audit',
    says: ['No entries yet. Decisions, pauses and changes of all projects will appear here.'],
  },
  { name: 'proof', path: '/proof', says: ['The payload must be exactly what was sent'] },
];

/** `:p` is the project, `:v` its vault, and `:b` a batch: in the first list one that does not exist. */
const NEW_PROJECT: readonly Empty[] = [
  { name: 'overview', path: '/p/:p', says: ['First steps'] },
  { name: 'batches', path: '/p/:p/batches', says: ['No batches yet'] },
  { name: 'batches-failed', path: '/p/:p/batches?show=failed', says: ['No failed batches', 'Show all batches'] },
  { name: 'batch', path: '/p/:p/batches/:b', says: ['Batch not found', 'All batches'] },
  { name: 'approve', path: '/p/:p/approve/:b', says: ['Batch not found', 'All batches'] },
  { name: 'new', path: '/p/:p/new', says: ['By hand'] },
  { name: 'vault', path: '/p/:p/vault', says: ['No deposits or spending yet'] },
  { name: 'keys', path: '/p/:p/keys', says: ['No API keys'], answers: { '/keys': { keys: [] } } },
  { name: 'rules', path: '/p/:p/rules', says: ['No rules yet'] },
  { name: 'settings', path: '/p/:p/settings', says: ['No webhooks yet.', 'Change history'] },
  { name: 'public-vault', path: '/vault/:v', says: ['No deposits or spending yet'] },
  { name: 'audit', path: '/audit/:v', says: ['No audit yet'] },
  { name: 'no-proof', path: '/proof?type=WATCH_AD&payload=%7B%7D', says: ['No proof found'] },
];

const API = '/console/api/';
const PROJECT = /\/projects\/[0-9a-f-]+$/;
const USED_PROJECT: readonly Screen[] = [
  { path: '/', code: 'home', shows: 'Your projects', reads: [/api\/projects$/] },
  { path: '/register', code: 'register', shows: 'Mint address', reads: [] },
  {
    path: '/proof?type=WATCH_AD&payload=%7B%7D',
    code: 'proof',
    shows: 'No proof found',
    reads: [/\/proof/],
  },
  { path: '/vault/:v', code: 'public-vault', shows: 'Balance, SOL', reads: [/\/vaults\//] },
  { path: '/audit/:v', code: 'vault-audit', shows: 'No audit yet', reads: [] },
  {
    path: '/company',
    code: 'approval-queue',
    shows: 'No batches waiting for the company',
    reads: [/\/company$/, /\/company\/waiting$/],
  },
  { path: '/company/projects', code: 'company-projects', shows: /served|admitted/i, reads: [/\/company\/projects$/] },
  { path: '/company/jobs', code: 'jobs', shows: /^(No open jobs|State)$/, reads: [/\/company\/jobs$/] },
  { path: '/company/audit', code: 'company', shows: 'Registered the project', reads: [/\/company\/audit$/] },
  { path: '/p/:p', code: 'overview', shows: 'Recent batches', reads: [PROJECT, /\/usage\?/, /\/batches\?limit=/] },
  { path: '/p/:p/batches', code: 'batches', shows: 'planned', reads: [/\/batches$/] },
  { path: '/p/:p/batches/:b', code: 'batch', shows: 'Timeline', reads: [/\/batches\/[0-9a-f-]+$/] },
  { path: '/p/:p/approve/:b', code: 'approve', shows: /^(Approve b|B)atch 1$/, reads: [/\/batches\/[0-9a-f-]+$/] },
  { path: '/p/:p/new', code: 'compose', shows: 'By hand', reads: [PROJECT, /\/settings$/] },
  { path: '/p/:p/vault', code: 'vault', shows: 'Needed by open batches', reads: [PROJECT] },
  { path: '/p/:p/keys', code: 'keys', shows: 'Revoke', reads: [/\/keys$/] },
  { path: '/p/:p/rules', code: 'policy', shows: 'No rules yet', reads: [/\/policy$/] },
  {
    path: '/p/:p/settings',
    code: 'settings',
    shows: 'Daily limits',
    reads: [/\/settings$/, /\/webhooks$/, /\/history$/, /\/rotations$/],
  },
];

interface Fault {
  readonly ending: Ending;
  readonly says: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const INTERNAL = { error: 'ERR_INTERNAL', message: 'The service failed unexpectedly. Its log has the cause.' };
const FAULTS: readonly Fault[] = [
  { ending: { status: 500, headers: JSON_TYPE, body: JSON.stringify(INTERNAL) }, says: INTERNAL.message },
  {
    ending: { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>503 Unavailable</h1>' },
    says: 'The service is not available: the answer was HTTP status 503.',
  },
  { ending: 'refused', says: 'No service answers at' },
];

let story: Story;
let person: Person;
let project: Registered;
let batchId: string = randomUUID();
before(async () => {
  if (noBrowser !== false) return;
  story = await openStory();
  person = await story.visit();
  const wallet = await signIn(person);
  // The same port keeps the browser's address and session valid.
  await story.world.restart({ PORT: new URL(story.world.url).port, COMPANY_OPERATORS: wallet });
});
after(() => story?.stop());

function pathOf(path: string): string {
  return path.replace(':p', project?.projectId).replace(':v', project?.vault).replace(':b', batchId);
}

/** Presses a button once what it waits for works again. A page that has retried by itself since then has no button, or a busy one. */
async function retry(alert: Locator, name: string): Promise<void> {
  const button = alert.first().getByRole('button', { name });
  await button.click({ trial: true });
  await stopIntercepting(person.page);
  await button.evaluateAll((buttons: { click(): void }[]) => {
    for (const each of buttons) each.click();
  });
}

describe('an empty screen in a browser', { skip: noBrowser }, () => {
  const showsEmpty = async ({ name, path, says, answers = {} }: Empty) => {
    const { page } = person;
    for (const [end, answer] of Object.entries(answers)) {
      const reply = { status: 200, headers: JSON_TYPE, body: JSON.stringify(answer) };
      await interceptRequests(page, { urlPattern: `*${API}*${end}` }, () => reply);
    }
    await page.goto(pathOf(path));
    for (const text of says) await page.locator('main').getByText(text).first().waitFor();
    await checkScreenInThemes(person, `empty-${name}`);
    await stopIntercepting(page);
  };

  for (const empty of NEW_WALLET) it(`${empty.name} says what will be here to a new wallet`, () => showsEmpty(empty));

  it('is a new project’s from here on', async () => {
    project = await register(person);
  });

  for (const empty of NEW_PROJECT) it(`${empty.name} says what will be here in a new project`, () => showsEmpty(empty));
});

describe('a broken screen in a browser', { skip: noBrowser }, () => {
  before(async () => {
    batchId = await initByApi(story, project, [burnPipeline(1)]);
  });

  let turn = 0;
  for (const { path, shows, reads } of USED_PROJECT) {
    for (const request of reads) {
      const { ending, says } = FAULTS[turn % FAULTS.length] ?? assert.fail();
      turn += 1;
      const name = `broken-${turn}`;
      it(`${path} says that ${request.source} failed, and recovers`, async () => {
        const { page } = person;
        await interceptRequests(page, { urlPattern: `*${API}*` }, ({ pathname, search }) =>
          request.test(pathname + search) ? ending : 'unchanged',
        );
        await page.goto(pathOf(path));
        const alert = page.locator('main').getByRole('alert').filter({ hasText: says });
        await alert.first().waitFor();
        await page.getByRole('heading', { level: 1 }).waitFor();
        if (request.source === '\\/company$') await page.getByRole('button', { name: 'Pause all projects' }).waitFor();
        // The notice of a second failure looks like the first one's.
        if (request === reads[0]) await checkScreenInThemes(person, name);
        await retry(alert, 'Retry');
        await page.locator('main').getByText(shows).first().waitFor();
        await alert.first().waitFor({ state: 'detached' });
      });
    }
  }

  for (const { path, shows } of USED_PROJECT.filter(({ reads }) => reads.length === 0)) {
    it(`${path} says that the service is away, and recovers`, async () => {
      const { page } = person;
      await interceptRequests(page, { urlPattern: `*${API}*` }, () => 'refused');
      await page.goto(pathOf(path));
      const alert = page.getByRole('alert').filter({ hasText: 'It retries by itself.' });
      await alert.getByText('No service answers at').waitFor();
      await checkScreenInThemes(person, `away-${path.split('/')[1]}`);
      await retry(alert, 'Retry now');
      await page.locator('main').getByText(shows).first().waitFor();
      await alert.waitFor({ state: 'detached' });
    });
  }

  for (const [path, says] of [
    ['/p/:p', 'The token’s freeze authority could not be read'],
    ['/vault/:v', 'does not answer this browser'],
  ] as const) {
    it(`${path} says that the Solana node is away, and recovers`, async () => {
      const { page } = person;
      const { url } = story.world.localnet;
      await interceptRequests(page, { urlPattern: `${url}*` }, () => 'refused');
      await page.goto(pathOf(path));
      const alert = page.locator('main').getByRole('alert').filter({ hasText: says });
      await alert.getByText('Check your connection, then retry.').waitFor();
      await checkScreenInThemes(person, `node-away-${path.split('/')[1]}`);
      await retry(alert, 'Retry');
      await alert.waitFor({ state: 'detached' });
    });
  }
});

/** The notice is the same on every screen, so its looks are checked once in each frame. */
const FRAMES = ['home', 'overview', 'approval-queue', 'vault-audit'];

describe('a screen without its code in a browser', { skip: noBrowser }, () => {
  // The page has reloaded itself once already, as it does at most once a minute.
  before(() => person.page.addInitScript("sessionStorage.setItem('flywheel.reloaded', String(Date.now()))"));

  for (const { path, code, shows } of USED_PROJECT) {
    it(`${path} says that its code is missing, and recovers`, async () => {
      const { page } = person;
      await interceptRequests(page, { urlPattern: `*/assets/${code}-????????.js`, resourceType: 'Script' }, () => ({
        status: 404,
      }));
      await page.goto(pathOf(path));
      const alert = page.getByRole('alert').filter({ hasText: 'This screen could not be loaded' });
      await alert.getByText('it may be in the middle of an upgrade').waitFor();
      if (FRAMES.includes(code)) await checkScreenInThemes(person, `missing-${code}`);
      await retry(alert, 'Retry');
      await page.locator('main').getByText(shows).first().waitFor();
    });
  }
});
