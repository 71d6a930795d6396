import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import { createProject } from '@flywheel/testing/project';
import { address, createKeyPairSignerFromPrivateKeyBytes, generateKeyPairSigner, getAddressEncoder } from '@solana/kit';
import { addWallet, alterAnswers, holdRequests } from './alterations.ts';
import {
  askApi,
  asksBeforeItIsLeft,
  checkScreenOnBoth,
  fund,
  initByApi,
  openApproval,
  openRegistrationReview,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  takeScreenshot,
  untilVerified,
} from './story.ts';

const SESSION_MS = 12 * 3_600_000;
const FLYWHEEL = fileURLToPath(new URL('../../../cli/bin/flywheel.js', import.meta.url));

describe('a session in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  let batchId: string;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
    await fund(person, project);
    batchId = await initByApi(story, project, [burnPipeline(2)]);
  });
  after(() => story.stop());

  it('that ends on an open batch asks to sign in, and then the batch is shown again and signed', async () => {
    const { page } = person;
    await openApproval(person, project, batchId);
    await story.world.db.deleteFrom('sessions').execute();
    // A poll may notice the end of the session, and remove the button, before the click.
    await page
      .getByRole('button', { name: 'Approve with wallet' })
      .click({ timeout: 3_000 })
      .catch(() => undefined);
    await page.getByText('Sign in to continue').waitFor();
    await hasTitle(person, 'Sign in');
    assert.equal(await page.getByRole('button', { name: 'Approve with wallet' }).isVisible(), false);
    await checkScreenOnBoth(person, 'session-over');
    await signIn(person);
    await untilVerified(person);
    assert.match(page.url(), new RegExp(`/approve/${batchId}$`));
    await takeScreenshot(person, 'session-back');
    await page.getByRole('button', { name: /^(Approve with wallet|Execute again \(already signed\))$/ }).click();
    await page.getByText('1 of 1 pipeline executed.').waitFor();
  });

  it('that ends keeps what was entered', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/new`);
    await page.getByLabel('Tokens', { exact: true }).fill('12.5');
    await page.getByLabel(/^Payload/).fill('{"orderId":"1"}');
    await page.getByLabel('Proof type').fill('PRODUCT_PURCHASE');
    await story.world.db.deleteFrom('sessions').execute();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await page.locator('main h1:focus').filter({ hasText: 'Sign in' }).waitFor();
    await asksBeforeItIsLeft(person);
    await page.getByRole('main').getByRole('button', { name: 'Connect wallet' }).press('Enter');
    await page.getByRole('button', { name: /Test wallet in this browser/ }).press('Enter');
    await page.locator('main h1:focus').filter({ hasText: 'New batch' }).waitFor();
    await page.getByRole('button', { name: 'Create the batch' }).waitFor();
    await page.getByRole('button', { name: 'Back to editing' }).click();
    assert.equal(await page.getByLabel('Tokens', { exact: true }).inputValue(), '12.5');
  });

  it('that ends keeps a form that only the project’s wallet has', async () => {
    const { page } = person;
    const { address: recipient } = await generateKeyPairSigner();
    await page.goto(`/p/${project.projectId}/vault`);
    await page.getByLabel('Recipient’s wallet').fill(recipient);
    await page.getByLabel('Amount, SOL').fill('0.25');
    await story.world.db.deleteFrom('sessions').execute();
    await page.getByRole('button', { name: 'Create withdrawal' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(person);
    assert.equal(await page.getByLabel('Recipient’s wallet').inputValue(), recipient);
    assert.equal(await page.getByLabel('Amount, SOL').inputValue(), '0.25');
  });

  it('that ends behind a dialog asks to sign in, and then the dialog is shown again', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    await dialog.getByLabel('Name').fill('nightly');
    await story.world.db.deleteFrom('sessions').execute();
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(person);
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'nightly');
    assert.equal(await dialog.getByRole('alert').count(), 0, 'the dialog says that the session has expired');
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await page.getByTestId('secret').waitFor();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('that ends keeps a new project’s key, which is shown only once', async () => {
    const visitor = await story.visit();
    const { page } = visitor;
    const wallet = address(await signIn(visitor));
    await openRegistrationReview(page);
    await page.getByRole('button', { name: 'Sign and create the project' }).click();
    await page.getByText('Project created').waitFor();
    const key = await page.getByTestId('secret').textContent();
    await story.world.db.deleteFrom('sessions').where('wallet', '=', wallet).execute();
    await page.clock.setFixedTime(Date.now() + SESSION_MS);
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('Sign in first').waitFor();
    assert.equal(await page.getByTestId('secret').isVisible(), false);
    await asksBeforeItIsLeft(visitor);
    await page.clock.setFixedTime(Date.now());
    await signIn(visitor);
    assert.equal(await page.getByTestId('secret').textContent(), key);
    await page.getByRole('link', { name: 'I have stored the key' }).click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
  });

  it('that is signed out from the palette leaves nothing of the wallet on the screen', async () => {
    const { page } = person;
    await page.goto('/');
    const shown = page.getByText(/^vault \S+$/);
    await shown.waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Command palette' }).getByRole('combobox').fill('Sign out');
    const ended = page.waitForResponse('**/console/api/sign-out');
    await page.keyboard.press('Enter');
    assert.equal((await ended).status(), 200);
    await page.getByRole('heading', { name: /^Burns and airdrops/ }).waitFor();
    assert.equal(await shown.count(), 0);
    assert.equal(await page.getByRole('button', { name: /^Signed in as/ }).count(), 0);
    await signIn(person);
  });

  it('that could not be signed out says so, until it is', async () => {
    const { page } = person;
    await page.goto('/');
    const signOuts = '**/console/api/sign-out';
    await page.route(signOuts, (route) => route.abort());
    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    const banner = page.getByRole('alert').filter({ hasText: 'You are still signed in.' });
    await banner.waitFor();
    await takeScreenshot(person, 'still-signed-in');
    await page.unroute(signOuts);
    await banner.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: /^Burns and airdrops/ }).waitFor();
    assert.equal(await banner.count(), 0);
    await signIn(person);
  });

  it('of another wallet shows nothing of the one before, not even until the service answers', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}`);
    const vault = page.getByText(project.vault.slice(0, 4)).first();
    await vault.waitFor();
    await story.world.db.deleteFrom('sessions').execute();
    await page.getByText('Sign in to continue').waitFor();
    await addWallet(person, 'Second wallet');
    const reads = await holdRequests(page, '**/console/api/projects/**');
    await page
      .getByRole('button', { name: /^Connect/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Second wallet' }).click();
    await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
    assert.equal(await vault.isVisible(), false, 'it shows the project of the other wallet');
    reads.release();
    await page.getByText('This wallet is not a member of the project').waitFor();
    await page.unrouteAll();
    await page.locator('main').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(person);
    await vault.waitFor();
  });

  it('of another wallet, opened in another tab, is shown in this one when the person returns to it', async () => {
    const { page, visit } = person;
    await page.goto('/');
    const shown = page.getByText(/^vault \S+$/).first();
    await shown.waitFor();
    const other = { ...person, page: await visit.context.newPage() };
    const tab = other.page;
    await tab.goto('/');
    await tab.getByRole('button', { name: /^Signed in as/ }).click();
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await addWallet(other, 'Second wallet');
    await tab.getByRole('main').getByRole('button', { name: 'Connect wallet' }).click();
    await tab.getByRole('button', { name: 'Second wallet' }).click();
    await tab.getByText('No projects yet').waitFor();
    const wallet = await tab.getByRole('button', { name: /^Signed in as/ }).textContent();
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole('button', { name: `Signed in as ${wallet}` }).click();
    assert.equal(await shown.isVisible(), false, 'it shows the project of the other wallet');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: /^Burns and airdrops/ }).waitFor();
    await signIn(person);
  });

  it('is not opened with the challenge of another host, whose session the service would get', async () => {
    const visitor = await story.visit();
    const { page } = visitor;
    const undo = await alterAnswers(page, {
      of: '/console/api/sign-in/challenge',
      change: (text) => text.replace(/[\w.:]+ wants you to sign in/, 'victim.example wants you to sign in'),
    });
    const signatures: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/console/api/sign-in')) signatures.push(request.url());
    });
    await page
      .getByRole('button', { name: /^Connect/ })
      .first()
      .click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    await page.getByText('Not signed: the sign-in message is not for').waitFor();
    assert.deepEqual(signatures, []);
    await undo();
  });

  it('shows another wallet no project, batch or key', async () => {
    const stranger = await story.visit();
    const { page } = stranger;
    await signIn(stranger);
    const { projectId } = project;
    for (const [screen, name] of [
      ['', 'overview'],
      ['/batches', null],
      [`/batches/${batchId}`, null],
      [`/approve/${batchId}`, null],
      ['/new', null],
      ['/vault', null],
      ['/keys', null],
      ['/settings', null],
    ] as const) {
      await page.goto(`/p/${projectId}${screen}`);
      await page.getByText('This wallet is not a member of the project').waitFor();
      await page.getByText(/Project \w{4}…\w{4} belongs to another wallet/).waitFor();
      const shown = (await page.locator('main').textContent()) ?? '';
      for (const secret of [project.vault, project.apiKey.slice(0, 10), projectId])
        assert.ok(!shown.includes(secret), screen);
      await hasTitle(stranger, 'No access');
      await page.locator('main').getByRole('button', { name: 'Sign out' }).waitFor();
      if (name !== null) await checkScreenOnBoth(stranger, `foreign-${name}`);
    }
    for (const path of ['', '/usage', '/settings', '/history', '/keys', '/batches', `/batches/${batchId}`]) {
      const { status, text } = await askApi(stranger, `/projects/${projectId}${path}`);
      assert.equal(status, 404, `${path}: ${text}`);
    }
    for (const path of ['/progress', '/approval', '/events']) {
      const { status, text } = await askApi(stranger, `/projects/${projectId}/batches/${batchId}${path}`);
      assert.equal(status, 404, `${path}: ${text}`);
    }
    // A project of its own gives no access either.
    const own = await register(stranger);
    assert.equal((await askApi(stranger, `/projects/${own.projectId}/batches/${batchId}`)).status, 404);
  });

  it('cannot make a collector on this machine pay, not even with its token', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flywheel-page-'));
    const store = join(folder, 'events.db');
    const keyBytes = crypto.getRandomValues(new Uint8Array(32));
    const wallet = await createKeyPairSignerFromPrivateKeyBytes(keyBytes);
    const paying = await createProject(story.world, { wallet });
    await writeFile(
      join(folder, 'wallet.json'),
      JSON.stringify([...keyBytes, ...getAddressEncoder().encode(wallet.address)]),
    );
    const words = [
      'collect',
      '--wallet',
      join(folder, 'wallet.json'),
      '--store',
      store,
      '--max-age',
      '0',
      '--listen',
      '0',
    ];
    const collector = spawn(process.execPath, [FLYWHEEL, ...words, '--hourly-tokens', '10'], {
      env: {
        ...process.env,
        XDG_STATE_HOME: folder,
        FLYWHEEL_URL: story.world.url,
        FLYWHEEL_API_KEY: paying.apiKey,
        SOLANA_RPC_URL: story.world.localnet.url,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(collector, 'exit');
    let events = '';
    for await (const line of createInterface({ input: collector.stderr })) {
      events = /http:\/\/127\.0\.0\.1:\d+\/events/.exec(line)?.[0] ?? '';
      if (events !== '') break;
    }
    const token = await readFile(`${store}.token`, 'utf8');
    const event = JSON.stringify({ id: 'page', type: 'SALE', payload: '{}', actions: [{ action: 'BURN', amount: 1 }] });

    const other = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<title>other</title>'),
    );
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo; // a TCP server that listens has one
    const { page } = await story.visit();
    const answers: number[] = [];
    page.on('response', (response) => {
      if (response.url().startsWith(events)) answers.push(response.status());
    });
    await page.goto(`http://127.0.0.1:${port}/`);
    const [json, simple, form] = await page.evaluate<string[]>(`(async () => {
      const body = ${JSON.stringify(event)};
      const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json' };
      const send = (options) => fetch('${events}', { method: 'POST', body, ...options }).then(({ type }) => type, ({ name }) => name);
      const json = await send({ headers });
      const simple = await send({ mode: 'no-cors', credentials: 'include' });
      document.body.innerHTML = '<iframe name="sink"></iframe><form method="post" enctype="text/plain" target="sink"><input></form>';
      const form = document.forms[0];
      form.action = '${events}';
      form.elements[0].name = body.slice(0, -1) + ',"x":"';
      form.elements[0].value = '"}';
      const loaded = new Promise((resolve) => { document.querySelector('iframe').onload = () => resolve('loaded'); });
      form.submit();
      return [json, simple, await loaded];
    })()`);
    assert.deepEqual([json, simple, form], ['TypeError', 'opaque', 'loaded']);
    assert.ok(answers.length >= 2 && answers.every((status) => status === 403), String(answers));

    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    assert.equal((await fetch(`${events}/page`, { headers })).status, 404);
    // The same event of a program on this machine is taken.
    const { status } = await fetch(events, { method: 'POST', headers, body: event });
    assert.equal(status, 202);
    collector.kill('SIGKILL');
    await ended;
    other.closeAllConnections();
    other.close();
    await rm(folder, { recursive: true });
  });

  it('that is signed out has ended on every screen and in the service', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}`);
    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
    await page.getByRole('button', { name: 'Copy address' }).click();
    await page.getByRole('button', { name: 'Could not copy. Select it yourself.' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page
      .getByRole('button', { name: /^Connect/ })
      .first()
      .waitFor();
    assert.equal((await askApi(person, '/session')).status, 401);
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    await page.getByText('Sign in to continue').waitFor();
    assert.equal((await askApi(person, `/projects/${project.projectId}`)).status, 401);
    await takeScreenshot(person, 'signed-out');
  });
});

/** Asserts that a screen has this title, as its heading and in the tab of the browser. */
async function hasTitle({ page }: Person, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  assert.equal(await page.title(), `${title} · Flywheel`);
}
