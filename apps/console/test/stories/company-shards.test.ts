import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { createProjectIn, openTwoShards, restartShard, type TwoShards } from '@flywheel/testing/two-shards';
import { noBrowser } from '../browser.ts';
import { checkScreenOnBoth, type Person, type Story, signIn, tellStory } from './story.ts';

/** The page reads its data every ten seconds, and repeats a request that fails several times. */
const PATIENT = { timeout: 120_000 };

describe('the company’s console behind two shards', { skip: noBrowser || WITH_HAPROXY.skip }, () => {
  let shards: TwoShards;
  let story: Story;
  let operator: Person;
  let operators: string;
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
    for (const shard of [first, second]) await restartShard(shard, { COMPANY_OPERATORS: operators });
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
      await page.getByText(`The batches of shard ${number} are not listed`).waitFor(PATIENT);
      await page.getByText(`Shard ${number} of this service does not answer`).first().waitFor(PATIENT);
      await cards.nth(0).waitFor();
      await cards.nth(1).waitFor({ state: 'detached' });
      await restartShard(down, { COMPANY_OPERATORS: operators });
      await cards.nth(1).waitFor(PATIENT);
    }
  });
});
