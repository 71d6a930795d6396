import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burnPipeline, init } from '../../../service/test/client.ts';
import { noBrowser } from '../browser.ts';
import { approve, fund, initByApi, look, openApproval, openStory, register, type Story, signIn } from './story.ts';

describe('the company’s desk in a browser', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  it('tells a wallet how to act for the company, then lets it reject, approve, pause and look back', async () => {
    const operator = await story.visit();
    const wallet = await signIn(operator);
    await operator.page.goto('/company');
    await operator.page.getByText(`COMPANY_OPERATORS=${wallet}`).waitFor();
    await look(operator, 'company-become');
    // On the port that the browser knows, with its session still good.
    await story.world.restart({ PORT: new URL(story.world.url).port, COMPANY_OPERATORS: wallet });

    const owner = await story.visit({ size: 'phone', colorScheme: 'dark' });
    await signIn(owner);
    const project = await register(owner, { byAPerson: true });
    await fund(owner, project);
    for (const amount of [2, 3]) {
      const batchId = await initByApi(story, project, [burnPipeline(amount)]);
      await openApproval(owner, project, batchId);
      await approve(owner);
      await owner.page
        .getByText(/company/i)
        .first()
        .waitFor();
    }

    const { page } = operator;
    await page.goto('/company');
    await page.getByRole('button', { name: 'Approve batch 2' }).waitFor();
    await look(operator, 'company-waiting');
    await page.getByRole('button', { name: 'Reject' }).first().click();
    await page.getByLabel('Why? The project reads it').fill('Two is too few.');
    await page.getByRole('button', { name: 'Reject the batch' }).click();
    await page.getByText('Batch 1 is rejected').waitFor();
    await page.getByRole('button', { name: 'Approve batch 2' }).click();
    await page.getByText('Batch 2 is approved').waitFor();
    await page.getByText('Nothing waits for the company').waitFor();
    await look(operator, 'company-given');

    await page
      .getByRole('link', { name: /^Projects$/ })
      .last()
      .click();
    await page.getByRole('button', { name: /^Pause (?!every)/ }).click();
    const asked = await page.locator('dialog[open] label').filter({ hasText: /^Type/ }).textContent();
    const name = /“(.+)”/.exec(asked ?? '')?.[1] ?? '';
    const confirm = page.locator('dialog[open]').getByRole('button', { name: 'Pause' });
    await page.getByLabel('Reason (the project reads it)').fill('Looking into it.');
    await page.getByLabel(/^Type/).fill('another');
    assert.ok(await confirm.isDisabled(), 'paused by another name');
    await page.getByLabel(/^Type/).fill(name);
    await confirm.click();
    await page.getByText('Paused').waitFor();
    await look(operator, 'company-paused');
    const refused = await init(story.world.url, project.apiKey, [burnPipeline(1)]);
    assert.notEqual(refused.status, 200);
    await owner.page.goto(`/p/${project.projectId}`);
    await owner.page.getByText('“Looking into it.”').waitFor();
    await look(owner, 'overview-paused');

    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('Paused the project').waitFor();
    await page.getByText('“Two is too few.”').waitFor();
    await look(operator, 'company-audit');

    // Who acts for the company reads the project, and is offered nothing that only its wallet may do.
    await page.goto(`/p/${project.projectId}/keys`);
    await page.getByText('You see this project for the company').waitFor();
    assert.equal(await page.getByRole('button', { name: /Revoke|Rotate|Create a key/ }).count(), 0);
    await look(operator, 'keys-for-the-company');
  });
});
