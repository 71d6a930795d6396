import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import { ADD_SILENT_WALLET, holdRequests, holdSignatures } from './alterations.ts';
import {
  approve,
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

/** A batch of a thousand pipelines has more. */
const EVENTS = 200;

describe('a batch whose answers overtake each other', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
    await fund(person, project);
  });
  after(() => story.stop());

  it('stays executed when a read of the whole batch, begun before, ends after it', async () => {
    const { page, visit } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    const status = page.getByRole('region', { name: 'Batch status' });
    await status.getByText('Waiting for you').waitFor();
    const [read, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(`**/batches/${batchId}`, async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      read.resolve();
      await released.promise;
      await route.fulfill({ response, body: text.replaceAll('"type":"PRODUCT_PURCHASE"', '"type":"READ_BEFORE"') });
    });
    // It is read again when a person returns to the tab after a while.
    await page.clock.setFixedTime(Date.now() + 60_000);
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await read.promise;
    const other = { ...person, page: await visit.context.newPage() };
    await openApproval(other, project, batchId);
    await approve(other);
    await status.getByText('Executed', { exact: true }).waitFor();
    await page.getByText('All rent returned').waitFor();
    released.resolve();
    await page.getByText('READ_BEFORE').first().waitFor();
    await status.getByText('Executed', { exact: true }).waitFor();
    await page.unrouteAll();
  });

  it('is not offered for approval again by a read that began before it was approved', async () => {
    const { page } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    // Without events, the page reads every two seconds.
    await page.route('**/events', (route) => route.abort());
    await openApproval(person, project, batchId);
    const [read, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(
      `**/batches/${batchId}/progress`,
      async (route) => {
        const response = await route.fetch();
        const text = await response.text();
        read.resolve();
        await released.promise;
        // The page may have cancelled the request.
        await route.fulfill({ response, body: text }).catch(() => undefined);
      },
      { times: 1 },
    );
    await read.promise;
    const executed = page.waitForResponse('**/execute');
    await approve(person);
    assert.equal((await executed).status(), 200);
    await page.getByRole('button', { name: /^(Approve with|Waiting for) / }).waitFor({ state: 'detached' });
    await page.evaluate(`new MutationObserver(() => {
      if (/Approve batch/.test(document.querySelector('main h1')?.textContent)) document.body.dataset.offered = '';
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
    released.resolve();
    await page.getByText('1 of 1 pipeline executed.').waitFor();
    assert.equal(await page.locator('[data-offered]').count(), 0, 'it was offered again');
    await page.unrouteAll();
  });

  it('is not sent when its wallet answers after the person has stopped waiting, and can be approved then', async () => {
    const { page } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await openApproval(person, project, batchId);
    const wallet = await holdSignatures(page);
    await approve(person);
    await wallet.reached;
    await page.getByRole('button', { name: 'Stop waiting' }).click();
    await page.getByRole('alert').filter({ hasText: 'You stopped waiting for the wallet' }).waitFor();
    await takeScreenshot(person, 'approve-stopped');
    const sent = page.waitForRequest('**/execute', { timeout: 1_000 });
    wallet.release();
    await assert.rejects(sent, { name: 'TimeoutError' }, 'a late signature was sent');
    await approve(person);
    await page.getByText('1 of 1 pipeline executed.').waitFor();
  });

  it('shows no earlier state after the whole batch was read again before its progress', async () => {
    const { page, visit } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await page.route('**/events', (route) => route.abort());
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    const status = page.getByRole('region', { name: 'Batch status' });
    await status.getByText('Waiting for you').waitFor();
    const progress = await holdRequests(page, `**/batches/${batchId}/progress`);
    const other = { ...person, page: await visit.context.newPage() };
    await openApproval(other, project, batchId);
    await approve(other);
    await other.page.getByText('1 of 1 pipeline executed.').waitFor();
    await progress.reached;
    await page.clock.setFixedTime(Date.now() + 60_000);
    const read = page.waitForResponse(`**/batches/${batchId}`);
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await read;
    await status.getByText('Executed', { exact: true }).waitFor();
    assert.equal(await status.getByText('Waiting for you').count(), 0);
    progress.release();
    await page.getByText('All rent returned').waitFor();
    await page.unrouteAll();
  });

  it('follows its events again after an answer that is no stream, and reads its progress once for all of the past', async () => {
    const { page } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    let [streams, reads] = [0, 0];
    page.on('request', (request) => {
      if (request.url().endsWith(`${batchId}/progress`)) reads += 1;
    });
    await page.route(`**/${batchId}/events`, async (route) => {
      streams += 1;
      if (streams === 1) return route.fulfill({ status: 503 });
      reads = 0;
      const body = 'event: batch.bundle_sent\ndata: {}\n\n'.repeat(EVENTS);
      await route.fulfill({ contentType: 'text/event-stream', body });
    });
    const stream = page.waitForResponse((answer) => answer.url().endsWith(`${batchId}/events`) && answer.ok());
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    await stream;
    await page.waitForResponse(`**/${batchId}/progress`);
    await page.unrouteAll();
    await page.getByRole('region', { name: 'Batch status' }).getByText('Waiting for you').waitFor();
    assert.ok(reads < EVENTS / 10, `${reads} reads for ${EVENTS} events`);
  });

  it('is approved with the wallet that holds its address while another one of the browser never answers', async () => {
    const { page, visit } = person;
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await visit.context.addInitScript(ADD_SILENT_WALLET);
    await openApproval(person, project, batchId);
    await approve(person);
    await page.getByText('1 of 1 pipeline executed.').waitFor();
  });
});
