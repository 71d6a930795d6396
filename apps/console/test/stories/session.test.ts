import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burnPipeline } from '@flywheel/testing/client';
import { noBrowser } from '../browser.ts';
import { alterAnswers } from './alterations.ts';
import {
  askApi,
  checkScreenOnBoth,
  fund,
  initByApi,
  openApproval,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  takeScreenshot,
} from './story.ts';

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
    assert.equal(await page.getByRole('button', { name: 'Approve with wallet' }).isVisible(), false);
    await checkScreenOnBoth(person, 'session-over');
    await signIn(person);
    await page.getByText('Verified: the chain matches this page').waitFor();
    assert.match(page.url(), new RegExp(`/approve/${batchId}$`));
    await takeScreenshot(person, 'session-back');
    await page.getByRole('button', { name: /^(Approve with wallet|Execute again \(already signed\))$/ }).click();
    await page.getByText('1 of 1 pipeline executed.').waitFor();
  });

  it('that ends keeps what was entered', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/new`);
    await page.getByLabel('Whole tokens').fill('12.5');
    await page.getByLabel(/^Payload/).fill('{"orderId":"1"}');
    await page.getByLabel('Proof type').fill('PRODUCT_PURCHASE');
    await story.world.db.deleteFrom('sessions').execute();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(person);
    await page.getByRole('button', { name: 'Create the batch' }).waitFor();
    await page.getByRole('button', { name: 'Back to editing' }).click();
    assert.equal(await page.getByLabel('Whole tokens').inputValue(), '12.5');
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
      await page.getByText(`Project ${projectId} belongs to another wallet`).waitFor();
      const shown = (await page.locator('main').textContent()) ?? '';
      for (const secret of [project.vault, project.apiKey.slice(0, 10)]) assert.ok(!shown.includes(secret), screen);
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

  it('that is signed out has ended on every screen and in the service', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}`);
    await page.getByRole('button', { name: /^Signed in as/ }).click();
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
