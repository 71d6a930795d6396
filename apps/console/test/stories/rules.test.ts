import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burnPipeline } from '@flywheel/testing/client';
import { noBrowser } from '../browser.ts';
import {
  approve,
  checkScreen,
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
} from './story.ts';

describe('the company’s rules in a browser', { skip: noBrowser }, () => {
  const denied = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
  let story: Story;
  let operator: Person;
  let owner: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    operator = await story.visit();
    owner = await story.visit({ colorScheme: 'dark' });
    const wallet = await signIn(operator);
    // The same port keeps the browser's address and session valid.
    await story.world.restart({ PORT: new URL(story.world.url).port, COMPANY_OPERATORS: wallet });
    await signIn(owner);
    project = await register(owner);
    await fund(owner, project);
  });
  after(() => story.stop());

  it('are tried on past batches, signed by an operator with all they say, and read by the project', async () => {
    await initByApi(story, project, [burnPipeline(2)]);
    const { page } = operator;
    await page.goto(`/p/${project.projectId}/rules`);
    await page.getByText('No rules yet').waitFor();
    await page.getByRole('button', { name: 'Change rules' }).click();
    await page.getByLabel('An operator approves: batch above').fill('1.0000000000000000000000001');
    assert.ok(
      await page.getByRole('button', { name: 'Review and sign' }).isDisabled(),
      'an amount that the token lacks',
    );
    await page.getByLabel('An operator approves: batch above').fill('1');
    await page.getByLabel('Most for a proof type a day').fill('PRODUCT_PURCHASE 100');
    await page.getByLabel('Never these recipients').fill(`address\n${denied}`);
    await page.getByRole('button', { name: 'Try on the last 30 days' }).click();
    await page.getByText('Of 1 batch, these rules would have met 1').waitFor();
    await checkScreenOnBoth(operator, 'rules-try');
    await page.getByRole('button', { name: 'Review and sign' }).click();
    const dialog = page.locator('dialog[open]');
    await dialog.getByText(`Denied recipients added: ${denied}.`).waitFor();
    await checkScreenOnBoth(operator, 'rules-sign');
    await page.getByRole('button', { name: 'Sign and set' }).click();
    await page.getByRole('heading', { name: 'Version 1' }).first().waitFor();
    await owner.page.goto(`/p/${project.projectId}/rules`);
    await owner.page.getByText('A person approves a batch of more than 1 token.', { exact: true }).waitFor();
    assert.equal(await owner.page.getByRole('button', { name: 'Change rules' }).count(), 0);
    await checkScreenOnBoth(owner, 'rules-of-a-project');
  });

  it('that a waiting batch meets stand on the desk of the company, with what is unusual', async () => {
    const batchId = await initByApi(story, project, [burnPipeline(3)]);
    await openApproval(owner, project, batchId);
    await approve(owner);
    await owner.page.getByText('Waiting for the company').first().waitFor();
    const { page } = operator;
    await page.goto('/company');
    await page.getByText('It moves 3 tokens. A person approves a batch of more than 1 token.').waitFor();
    await page.getByText('It is the first batch of this project that would be executed.').waitFor();
    await checkScreenOnBoth(operator, 'rules-desk');
    await page.getByRole('button', { name: /^Approve batch/ }).click();
    await page.getByText(/^Burns 3 tokens of the mint /).waitFor();
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.getByText('It is executing now.').waitFor();
    await checkScreen(operator, 'rules-approved');
  });
});
