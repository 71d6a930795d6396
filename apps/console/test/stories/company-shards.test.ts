import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { headersFor, SHARD_HEADER } from '@flywheel/api';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { noBrowser, SIZES } from '@flywheel/testing/browser';
import { burnPipeline, init } from '@flywheel/testing/client';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { failClosing } from '@flywheel/testing/jobs';
import type { TestProject } from '@flywheel/testing/project';
import {
  createProjectIn,
  fillAuditLog,
  openTwoShards,
  restartShard,
  type TwoShards,
} from '@flywheel/testing/two-shards';
import type { Route } from 'playwright-core';
import { checkScreenOnBoth, type Person, type Story, signIn, tellStory } from './story.ts';

/** The page reads its data every ten seconds, and repeats a request that fails several times. */
const PATIENT = { timeout: 120_000 };

describe('the company’s console behind two shards', { skip: noBrowser || WITH_HAPROXY.skip }, () => {
  let shards: TwoShards;
  let story: Story;
  let operator: Person;
  let operators: string;
  /** A project in each shard. */
  const owners: TestProject[] = [];
  before(async () => {
    shards = await openTwoShards();
    const { first, proxy } = shards;
    story = tellStory(Object.create(first, { url: { value: proxy.url }, stop: { value: () => shards.stop() } }));
    operator = await story.visit();
  });
  after(() => story?.stop());

  it('lists the batches of both after a second sign-in, and decides one where it is', async () => {
    const { first, second, proxy } = shards;
    const { page } = operator;
    operators = await signIn(operator);
    for (const shard of [first, second]) await restartShard(shards, shard, { COMPANY_OPERATORS: operators });
    const waiting = [];
    for (const shard of [first, second]) {
      const owner = await createProjectIn(shard, proxy, { approvalMode: 'manual' });
      const batch = await setUpBatch(proxy, owner, [burnPipeline()]);
      await executeSigned(proxy, owner, batch);
      waiting.push({ owner, id: batch.id });
      owners.push(owner);
    }
    await page.goto('/company');
    await page.getByText('Shard 2 is missing on this page').waitFor();
    await page.getByRole('article').nth(0).waitFor();
    await checkScreenOnBoth(operator, 'company-shard-missing');
    await page.getByRole('button', { name: 'Sign in to shard 2' }).click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    const cards = page.getByRole('article');
    await cards.nth(1).waitFor();
    await page.getByText('Shard 2 is missing on this page').waitFor({ state: 'detached' });
    await page.getByText('2 waiting for the company · 2 projects').waitFor();
    for (const shard of [1, 2]) await rowOf(shard).waitFor();
    await checkScreenOnBoth(operator, 'company-shards');
    // The oldest is first.
    await cards
      .nth(1)
      .getByRole('button', { name: /^Approve batch/ })
      .click();
    const decisions = '**/console/api/company/batches/*/approve';
    await page.route(decisions, answerWithoutSession);
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.locator('dialog[open]').getByText('Your session in shard 2 has ended.').waitFor();
    assert.equal(await page.getByText('Sign in to continue').count(), 0, 'it ended the session of shard 1');
    await page.unroute(decisions);
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.getByText('Batch 1 approved').waitFor();
    const [, approved] = waiting;
    if (approved) await waitForBatch(proxy, approved.owner, approved.id, ({ status }) => status === 'EXECUTED');
    await page.getByRole('button', { name: /^Reject/ }).waitFor();
  });

  it('lists projects, jobs and the audit log of both, and retries a job where it is', async () => {
    const { second } = shards;
    const { page } = operator;
    await page.goto('/company/projects');
    const rows = page.getByRole('table', { name: 'Projects' }).getByRole('row');
    // The newest is first, below the names of the columns.
    for (const [row, shard] of [
      [1, '2'],
      [2, '1'],
    ] as const) {
      assert.equal(await rows.nth(row).getByRole('cell').nth(1).innerText(), shard);
    }
    await checkScreenOnBoth(operator, 'company-shards-projects');
    const error = 'The cluster answered nothing for an hour.';
    await failClosing(second, error);
    await page.goto('/company/jobs');
    await page.getByText(error).waitFor();
    const failed = page.getByRole('table', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'Gave up' });
    assert.deepEqual(await failed.getByRole('cell').nth(1).innerText(), '2');
    await checkScreenOnBoth(operator, 'company-shards-jobs');
    await failed.getByRole('button', { name: 'Retry now' }).click();
    await page.getByText(error).waitFor({ state: 'detached' });

    await page.goto('/company/audit');
    await page.getByText('Retried a job').waitFor();
    await page.getByText('shard 1', { exact: true }).first().waitFor();
    await page.getByText('shard 2', { exact: true }).first().waitFor();
    await checkScreenOnBoth(operator, 'company-shards-audit');
    for (const shard of [shards.first, second]) await fillAuditLog(shard, shards.operator);
    await page.reload();
    const entries = page
      .getByRole('main')
      .getByRole('listitem')
      .filter({ hasText: /^Retried a job/ });
    await entries.nth(10).waitFor();
    const shown = await entries.count();
    await page.getByRole('button', { name: 'Load more' }).click();
    await entries.nth(shown).waitFor();
  });

  it('pauses all projects of both, resumes them with a signature each, and shows a pause of one of them', async () => {
    const { page } = operator;
    await page.goto('/company');
    await page.getByRole('button', { name: 'Pause all projects' }).click();
    const dialog = page.locator('dialog[open]');
    await dialog.getByLabel(/^Reason/).fill('Maintenance.');
    await dialog.getByLabel(/^Type/).fill('all projects');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('All projects are paused').waitFor();
    await page.getByText('“Maintenance.”').waitFor();
    await page.setViewportSize(SIZES.phone);
    const [notice, tabs] = await Promise.all([
      page.getByText('All projects are paused').boundingBox(),
      page.getByRole('navigation', { name: 'Company' }).boundingBox(),
    ]);
    assert.ok(notice && tabs && notice.y < tabs.y, 'the pause stands below the queue');
    for (const owner of owners) assert.equal(await isPaused(owner), true);
    await page.getByRole('button', { name: 'Pause all projects' }).waitFor({ state: 'detached' });
    await checkScreenOnBoth(operator, 'company-shards-paused');

    await page.getByRole('button', { name: 'Resume all projects' }).click();
    await dialog.getByText('your wallet signs 2 times').waitFor();
    await dialog.getByText('Shard 2 paused since').waitFor();
    await page.getByRole('button', { name: 'Sign and resume' }).click();
    await page.getByText('All projects are paused').waitFor({ state: 'detached' });
    for (const owner of owners) {
      await waitUntil(
        'the end of the pause',
        () => isPaused(owner),
        (isOn) => !isOn,
      );
    }

    const headers = { 'content-type': 'application/json', ...headersFor(2) };
    const request = JSON.stringify({ method: 'PUT', headers, body: '{}' });
    await page.evaluate(`fetch('/console/api/company/pause', ${request})`);
    await page.getByText('All projects of shard 2 are paused').waitFor(PATIENT);
    await page.getByRole('button', { name: 'Pause all projects' }).waitFor();
    await page.getByRole('button', { name: 'Resume all projects' }).click();
    await dialog.getByText('Shard 2 paused since').waitFor();
    assert.equal(await dialog.getByText('Shard 1 paused since').count(), 0);
    await page.getByRole('button', { name: 'Sign and resume' }).click();
    await page.getByText('All projects of shard 2 are paused').waitFor({ state: 'detached' });
  });

  it('lists the batches of the other while a shard is down, also the one that answers first', async () => {
    const { first, second, proxy } = shards;
    const { page } = operator;
    const owner = await createProjectIn(second, proxy, { approvalMode: 'manual' });
    const batch = await setUpBatch(proxy, owner, [burnPipeline()]);
    await executeSigned(proxy, owner, batch);
    const cards = page.getByRole('article');
    await cards.nth(1).waitFor();
    for (const [down, number] of [
      [second, 2],
      [first, 1],
    ] as const) {
      await down.app.stop();
      await page.getByText(`Shard ${number} is missing on this page`).waitFor(PATIENT);
      await page.getByText(`Shard ${number} of this service does not answer`).first().waitFor(PATIENT);
      await cards.nth(0).waitFor();
      await cards.nth(1).waitFor({ state: 'detached' });
      await restartShard(shards, down, { COMPANY_OPERATORS: operators });
      await cards.nth(1).waitFor(PATIENT);
    }
  });

  function rowOf(shard: number) {
    return operator.page
      .getByRole('table', { name: 'Shards' })
      .getByRole('row')
      .filter({ hasText: `Shard ${shard}` });
  }

  async function isPaused({ apiKey }: TestProject): Promise<boolean> {
    return (await init(shards.proxy.url, apiKey, [burnPipeline()])).body.error === 'ERR_PAUSED';
  }
});

/** Sends a request without its cookie: the shard answers as after the end of its session. */
async function answerWithoutSession(route: Route): Promise<void> {
  const request = route.request();
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(request.url(), { method: request.method(), headers, body: request.postData() });
  const shard = { [SHARD_HEADER]: answer.headers.get(SHARD_HEADER) ?? '' };
  await route.fulfill({ status: answer.status, headers: { ...headers, ...shard }, body: await answer.text() });
}
