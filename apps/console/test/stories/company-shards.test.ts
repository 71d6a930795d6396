import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { createProjectIn, openTwoShards, restartShard, type TwoShards } from '@flywheel/testing/two-shards';
import { noBrowser } from '../browser.ts';
import { checkScreenOnBoth, type Person, type Story, signIn, tellStory } from './story.ts';

describe('the company’s console behind two shards', { skip: noBrowser || WITH_HAPROXY.skip }, () => {
  let shards: TwoShards;
  let story: Story;
  let operator: Person;
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
    const COMPANY_OPERATORS = await signIn(operator);
    for (const shard of [first, second]) await restartShard(shard, { COMPANY_OPERATORS });
    const waiting = [];
    for (const shard of [first, second]) {
      const owner = await createProjectIn(shard, proxy, { approvalMode: 'manual' });
      const batch = await setUpBatch(proxy, owner, [burnPipeline()]);
      await executeSigned(proxy, owner, batch);
      waiting.push({ owner, id: batch.id });
    }
    await page.goto('/company');
    await page.getByText('are of shard 1 of 2').waitFor();
    await page.getByText('The batches of shard 2 are not listed').waitFor();
    await page.getByRole('article').nth(0).waitFor();
    await checkScreenOnBoth(operator, 'company-shard-missing');
    await page.getByRole('button', { name: 'Sign in to shard 2' }).click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    const cards = page.getByRole('article');
    await cards.nth(1).waitFor();
    await page.getByText('The batches of shard 2 are not listed').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Pause all projects of shard 1' }).waitFor();
    await checkScreenOnBoth(operator, 'company-shards');
    // The oldest is first.
    await cards
      .nth(1)
      .getByRole('button', { name: /^Approve batch/ })
      .click();
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.getByText('Batch 1 approved').waitFor();
    const [, approved] = waiting;
    if (approved) await waitForBatch(proxy, approved.owner, approved.id, ({ status }) => status === 'EXECUTED');
    await page.getByRole('button', { name: /^Reject/ }).waitFor();
  });
});
