import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
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
    const { page } = operator;
    const tried: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/policy/try')) tried.push(request.postDataJSON().policy);
    });
    await page.goto(`/p/${project.projectId}/rules`);
    await page.getByRole('button', { name: 'Change rules' }).click();
    await page.getByRole('button', { name: 'Try on the last 30 days' }).click();
    await page.getByText('No batches of the last 30 days: nothing to try these rules on.').waitFor();
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await page.reload();
    await page.getByText('No rules yet').waitFor();
    await page.getByRole('button', { name: 'Change rules' }).click();
    await page.getByLabel('An operator approves batches above').fill('1.0000000000000000000000001');
    assert.ok(
      await page.getByRole('button', { name: 'Review and sign' }).isDisabled(),
      'an amount that the token lacks',
    );
    await page.getByLabel('An operator approves batches above').fill('1');
    await page.getByLabel('Maximum per proof type and day').fill('PRODUCT_PURCHASE 100');
    await page.getByLabel('Denied recipients').fill(`address\n${denied}`);
    await page.getByRole('button', { name: 'Try on the last 30 days' }).click();
    await page.getByText('Of 1 batch, these rules would have applied to 1').waitFor();
    await checkScreenOnBoth(operator, 'rules-try');
    await page.getByLabel('An operator approves batches above').fill('2');
    await page.getByText('Of 1 batch, these rules').waitFor({ state: 'detached' });
    const dialog = page.locator('dialog[open]');
    const sign = dialog.getByRole('button', { name: 'Sign and set' });
    const broken = { error: 'ERR_INTERNAL', message: 'The service failed to read its database.' };
    await page.route('**/policy/try', (route) => route.fulfill({ status: 500, json: broken }));
    await page.getByRole('button', { name: 'Review and sign' }).click();
    await dialog.getByText(broken.message).waitFor();
    assert.ok(await sign.isDisabled(), 'rules that were not tried can be signed');
    await checkScreenOnBoth(operator, 'rules-try-failed');
    await page.unroute('**/policy/try');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    // Two tokens are not more than two, so only the rules that the dialog shows meet none.
    await dialog.getByText('Of 1 batch, these rules would have applied to 0').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('An operator approves batches above').fill('1');

    const set = page.waitForRequest((request) => request.method() !== 'GET' && request.url().endsWith('/policy'));
    await page.getByRole('button', { name: 'Review and sign' }).click();
    await dialog.getByText(`Denied recipients added: ${denied}.`).waitFor();
    await dialog.getByText('Of 1 batch, these rules would have applied to 1').waitFor();
    const link = dialog.getByRole('link', { name: 'Batch 1' });
    assert.equal(await link.getAttribute('href'), `/p/${project.projectId}/batches/${batchId}`);
    await checkScreenOnBoth(operator, 'rules-sign');
    await sign.click();
    const { policy } = (await set).postDataJSON();
    assert.ok(
      tried.some((each) => isDeepStrictEqual(each, policy)),
      'other rules were tried than were signed',
    );
    await page.getByRole('heading', { name: 'Version 1' }).first().waitFor();
    await owner.page.goto(`/p/${project.projectId}/rules`);
    await owner.page
      .getByText('An operator of the company approves a batch of more than 1 token.', { exact: true })
      .waitFor();
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
    await page
      .getByText('It moves 3 tokens. An operator of the company approves a batch of more than 1 token.')
      .waitFor();
    await page.getByText('It is the first batch of this project that would be executed.').waitFor();
    await checkScreenOnBoth(operator, 'rules-desk');
    await page.getByRole('button', { name: /^Approve batch/ }).click();
    await page.getByText(/^Burns 3 tokens of the mint /).waitFor();
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.getByText('It will be executed.').waitFor();
    await checkScreen(operator, 'rules-approved');
  });
});
