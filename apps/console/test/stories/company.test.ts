import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser, SIZES } from '@flywheel/testing/browser';
import { burnPipeline, init } from '@flywheel/testing/client';
import { failClosing } from '@flywheel/testing/jobs';
import { createOwnMint, mintTo } from '@flywheel/testing/mints';
import { type Address, address } from '@solana/kit';
import type { Route } from 'playwright-core';
import { alterAnswers, holdSignatures } from './alterations.ts';
import {
  approve,
  askApi,
  checkScreen,
  checkScreenOnBoth,
  countSignatures,
  initByApi,
  openApproval,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  showsFreezeRisk,
  signIn,
} from './story.ts';

describe('the company’s console in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let operator: Person;
  let owner: Person;
  let project: Registered;
  let wallet: Address;
  before(async () => {
    story = await openStory();
    operator = await story.visit();
    owner = await story.visit({ colorScheme: 'dark' });
  });
  after(() => story.stop());

  it('explains to a wallet how to act for the company, and opens for an operator', async () => {
    const { page } = operator;
    wallet = address(await signIn(operator));
    await page.goto('/company');
    await page.getByText(`COMPANY_OPERATORS=<present ones>,${wallet}`).waitFor();
    await checkScreenOnBoth(operator, 'company-become');
    assert.equal((await askApi(operator, '/company')).status, 403);
    // The same port keeps the browser's address and session valid.
    await story.world.restart({
      PORT: new URL(story.world.url).port,
      COMPANY_OPERATORS: wallet,
      REGISTRATION: 'approval',
    });
    await page.reload();
    await page.getByText('No batches waiting for the company').waitFor();
    await checkScreenOnBoth(operator, 'company-idle');
    for (const [path, text, name] of [
      ['/company/projects', 'No projects yet', 'company-no-projects'],
      ['/company/jobs', 'No open jobs', 'company-no-jobs'],
      ['/', 'No projects yet', 'projects-none'],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).waitFor();
      await checkScreenOnBoth(operator, name);
    }
  });

  it('lists a project that waits to be admitted, which can create batches after the operator has signed', async () => {
    const ownerWallet = await signIn(owner);
    await owner.page.goto('/register');
    await owner.page.getByText('The company must admit the project').waitFor();
    const mint = await createOwnMint(story.world, false);
    const freezeAuthority = mint.authority.address;
    const frozenBy = { mint: mint.address, freezeAuthority };
    project = await register(owner, { isManual: true, frozenBy });
    await owner.page.getByText('The company has not admitted this project').waitFor();
    await showsFreezeRisk(owner.page, freezeAuthority);
    assert.equal(await offersBatch(), false, 'offers a batch that no person may create');
    await checkScreen(owner, 'overview-risk');
    await owner.page.goto(`/p/${project.projectId}/batches`);
    await owner.page.getByText('No batches yet').waitFor();
    assert.equal(await linksToBatch(), 0, 'its list of batches offers one');
    const vault = address(project.vault);
    await story.world.localnet.bank.airdrop(vault, 1_000_000_000n);
    await mintTo(story.world, mint, vault, 10n ** 9n);
    const refused = await init(story.world.url, project.apiKey, [burnPipeline()]);
    assert.deepEqual([refused.status, refused.body.error], [403, 'ERR_PROJECT_NOT_ADMITTED']);
    const { page } = operator;
    await page.goto('/company/projects');
    await page.getByText('Waiting to be admitted').waitFor();
    await showsFreezeRisk(page, freezeAuthority);
    const list = page.getByRole('table', { name: 'Projects', exact: true });
    await list.getByText('Not admitted').waitFor();
    assert.equal(await list.getByText('Active').count(), 0);
    await checkScreenOnBoth(operator, 'company-admit');
    const finer = (text: string) => text.replace(/(manual","burnLimit":")[\d.]+/, '$10.0000000001');
    const stop = await alterAnswers(page, { of: /\/settings$/, change: finer });
    await page.getByRole('button', { name: /^Admit / }).click();
    await page.getByText('0.0000000001 is not an amount of a token with 6 decimals.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Sign and admit' }).count(), 0, 'another limit can be signed');
    await stop();
    const honest = await showOtherDecimals();
    await page.goto('/company/projects');
    await page.getByRole('button', { name: /^Admit / }).click();
    await refusesDecimals('Sign and admit');
    await honest();
    await page.goto('/company/projects');
    await page.getByRole('button', { name: /^Admit / }).click();
    await page.getByText('Can freeze accounts').waitFor();
    await page.getByText('Burns per day: 1,000 tokens').waitFor();
    await page.getByRole('heading', { name: 'An operator of the company approves every batch' }).waitFor();
    await page.getByRole('dialog').getByText(ownerWallet).waitFor();
    await checkScreenOnBoth(operator, 'company-admit-review');
    for (const size of ['phone', 'desktop'] as const) {
      await page.setViewportSize(SIZES[size]);
      assert.deepEqual(await seenOf(['Sign and admit', 'Cancel']), ['Sign and admit', 'Cancel']);
    }
    await page.getByRole('button', { name: 'Sign and admit' }).click();
    await page.getByText('Waiting to be admitted').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Withdraw admission/ }).waitFor();
    await page.locator('main h1:focus').waitFor();
    await page.goto('/company');
  });

  it('lists a batch that waits for manual approval, which is executed after the approval', async () => {
    await approveForTheCompany();
    const { page } = operator;
    await page.reload();
    const approval = page.getByRole('button', { name: 'Approve batch 1' });
    await approval.waitFor();
    const card = page.getByRole('article');
    await card.getByRole('heading', { name: /^[1-9A-HJ-NP-Za-km-z]{4}…[1-9A-HJ-NP-Za-km-z]{4} · Batch 1$/ }).waitFor();
    assert.equal(await card.getByRole('link').first().getAttribute('href'), `/p/${project.projectId}`);
    await checkScreenOnBoth(operator, 'company-waiting');
    await page.route(/\/console\/api\/(?!.*events)/, answerInTenDays);
    await approval.click();
    await page.getByText(/^Burns 2 tokens of the mint /).waitFor();
    await page.getByText(/^Token burns 2 tokens of [1-9A-HJ-NP-Za-km-z]{32,44}$/).waitFor();
    await checkScreenOnBoth(operator, 'company-approve');
    await page.getByRole('button', { name: 'Sign and approve' }).click();
    await page.locator(':focus').filter({ hasText: 'Batch 1 approved' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    const { expires_at } = await story.world.db
      .selectFrom('company_decisions')
      .select('expires_at')
      .orderBy('expires_at', 'desc')
      .executeTakeFirstOrThrow();
    assert.ok(expires_at.getTime() < Date.now() + 2 * DAY_MS, 'a thief of serve decides how long a decision counts');
    await checkScreen(operator, 'company-approved');
    await owner.page.getByText('1 of 1 pipeline executed.').waitFor();
  });

  it('shows the project the reason of a rejection', async () => {
    await approveForTheCompany();
    const { page } = operator;
    await countSignatures(operator);
    await page.reload();
    await page.getByRole('button', { name: 'Reject' }).click();
    const reject = page.getByRole('button', { name: 'Reject the batch' });
    assert.ok(await reject.isDisabled(), 'rejected without a reason');
    await page.getByLabel('Reason (shown to the project)').fill('理'.repeat(400));
    await page.getByText(/^Burns 2 tokens of the mint /).waitFor();
    await reject.click();
    await page.getByText(/^The text has \d+ bytes; 1000 fit\. Shorten the reason\.$/).waitFor({ timeout: 10_000 });
    assert.equal(await page.evaluate('globalThis.signaturesMade'), 0, 'the wallet was asked');
    await page.getByLabel('Reason (shown to the project)').fill('Two is too few.');
    await page.getByText(/^Burns 2 tokens of the mint /).waitFor();
    await page.getByLabel(/^My wallet signs transactions only/).check();
    await checkScreenOnBoth(operator, 'company-reject');
    await story.world.db.deleteFrom('sessions').where('wallet', '=', wallet).execute();
    await reject.click();
    await page.getByText('Sign in to continue').waitFor();
    await signIn(operator);
    await reject.click();
    await page.getByText('Batch 2 rejected').waitFor();
    await owner.page.getByText('Two is too few.').first().waitFor();
    await owner.page.getByText('Rejected', { exact: true }).waitFor();
    await checkScreenOnBoth(owner, 'company-rejected');
    await owner.page.getByRole('link', { name: 'View batch' }).click();
    await owner.page.getByText('Not executed').first().waitFor();
    await owner.page.getByText(/^Rejected by/).waitFor();
    await checkScreenOnBoth(owner, 'batch-rejected');
  });

  it('pauses a project after its name is entered, and resumes it', async () => {
    const { page } = operator;
    await page.goto('/company/projects');
    await pause('Looking into it.');
    await page.getByText('Paused').waitFor();
    await page
      .locator(':focus')
      .and(page.getByRole('button', { name: /^Resume (?!all)/ }))
      .waitFor();
    await checkScreenOnBoth(operator, 'company-paused');
    const { status, body } = await init(story.world.url, project.apiKey, [burnPipeline()]);
    assert.deepEqual([status, body.error], [503, 'ERR_PAUSED']);
    assert.match(body.message, /Looking into it\./);
    await owner.page.goto(`/p/${project.projectId}`);
    await owner.page.getByText('“Looking into it.”').waitFor();
    await owner.page.getByText('Rent reserved for open batches').waitFor();
    assert.equal(await offersBatch(), false, 'offers a batch while the project is paused');
    assert.equal(await owner.page.getByText('Nothing to do').count(), 0);
    await checkScreenOnBoth(owner, 'overview-paused');
    await page.getByRole('button', { name: /^Resume (?!all)/ }).click();
    await page.getByRole('heading', { name: /^Resume \w{4}…\w{4}\?$/ }).waitFor();
    await page.locator('dialog[open]').getByText('Paused since').waitFor();
    await checkScreen(operator, 'company-resume');
    const held = await holdSignatures(page);
    await page.getByRole('button', { name: 'Sign and resume' }).click();
    await held.reached;
    await page.getByRole('button', { name: 'Cancel' }).click();
    const sent = page.waitForRequest((request) => request.method() === 'POST', { timeout: 1_000 });
    held.release();
    await assert.rejects(sent, { name: 'TimeoutError' }, 'a decision was sent after it was cancelled');
    await page.getByRole('button', { name: /^Resume (?!all)/ }).click();
    await page.getByRole('button', { name: 'Sign and resume' }).click();
    await page.getByText('Active').waitFor();
    await initByApi(story, project, [burnPipeline()]);
  });

  it('changes what the company approves by itself after the operator has signed the change', async () => {
    const { page } = operator;
    const review = async () => {
      await page.goto(`/p/${project.projectId}/settings`);
      await page.getByRole('radio', { name: 'Automatic company approval' }).check();
      await page.getByLabel('Burned per day without approval by a person').fill('3');
      await page.getByRole('button', { name: 'Review and sign' }).click();
      await page.getByText('Approval: from manual to automatic').waitFor();
    };
    const honest = await showOtherDecimals();
    await review();
    await refusesDecimals('Sign and change');
    await honest();
    await review();
    await checkScreenOnBoth(operator, 'terms-change');
    await page.getByRole('button', { name: 'Sign and change' }).click();
    await page.getByText('Changed what the company approves by itself').waitFor();
    await owner.page.goto(`/p/${project.projectId}/settings`);
    await owner.page.getByText('Batches above that wait for one.').first().waitFor();
    await checkScreen(owner, 'terms-changed');
  });

  it('shows a project without actions that only its wallet may take', async () => {
    const { page } = operator;
    await page.goto(`/p/${project.projectId}/keys`);
    await page.getByText('You are viewing this project as a company operator').waitFor();
    assert.equal(await page.getByRole('button', { name: /Revoke|Rotate|Create a key/ }).count(), 0);
    await checkScreen(operator, 'keys-for-the-company');
    await page.goto(`/p/${project.projectId}/batches`);
    await page.getByRole('table').getByRole('link').first().waitFor();
    await page.getByText('You are viewing this project as a company operator').waitFor();
    assert.equal(await page.getByRole('link', { name: 'New batch' }).count(), 0);
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByText('Wallet approval', { exact: true }).waitFor();
    assert.equal(await page.getByText('Your approval', { exact: true }).count(), 0);
  });

  it('shows a stuck job with its reason, and retries it', async () => {
    const { page } = operator;
    const error = 'The cluster answered nothing for an hour.';
    await failClosing(story.world, error);
    await page.goto('/company/jobs');
    await page.getByText('Gave up').first().waitFor();
    await page.getByText(error).first().waitFor();
    await page
      .getByRole('link', { name: /^\S+ · Batch \d+$/ })
      .first()
      .waitFor();
    await checkScreenOnBoth(operator, 'company-jobs');
    await page.getByRole('button', { name: 'Retry now' }).first().click();
    await page.getByText(error).first().waitFor({ state: 'detached' });
  });

  it('logs who did what, with the reason', async () => {
    const { page } = operator;
    await page.goto('/company/audit');
    for (const text of [
      'Retried a job',
      'Resumed the project',
      'Paused the project',
      '“Two is too few.”',
      'Approved a batch for the company',
      'Admitted the project',
      'Registered the project',
    ]) {
      await page.getByText(text).first().waitFor();
    }
    await checkScreenOnBoth(operator, 'company-audit');
  });

  /** Lets the service show the token with three decimals more than it has: a thousand times the amounts would be signed. */
  function showOtherDecimals(): Promise<() => Promise<void>> {
    const change = (text: string) => text.replace('"decimals":6', '"decimals":9');
    return alterAnswers(operator.page, { of: new RegExp(`/projects/${project.projectId}$`), change });
  }

  async function refusesDecimals(verb: string): Promise<void> {
    await operator.page.getByText('It has 6 on chain; the service says 9').waitFor();
    assert.ok(await operator.page.getByRole('button', { name: verb }).isDisabled(), 'other amounts can be signed');
  }

  /** Requests an execution with the owner's vote; the company's is missing. */
  async function approveForTheCompany(): Promise<void> {
    const batchId = await initByApi(story, project, [burnPipeline(2)]);
    await openApproval(owner, project, batchId);
    await approve(owner);
    await owner.page.getByText('Waiting for the company').first().waitFor();
  }

  /** Those buttons of the dialog that stand in the window, with nothing above them. */
  function seenOf(names: readonly string[]): Promise<string[]> {
    return operator.page.evaluate(`${JSON.stringify(names)}.filter((name) => {
      const button = [...document.querySelectorAll('dialog[open] button')].find((it) => it.textContent === name);
      const { x, y, width, height } = button.getBoundingClientRect();
      return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    })`);
  }

  /** Returns true if the owner's overview leads to a new batch, beside the tab that is always there. */
  async function offersBatch(): Promise<boolean> {
    await owner.page.getByText('Needs attention', { exact: true }).waitFor();
    return (await linksToBatch()) > 0;
  }

  async function linksToBatch(): Promise<number> {
    const { page } = owner;
    const header = page.locator('header:has(h1)').getByRole('link', { name: 'New batch' });
    return (await header.count()) + (await page.getByRole('link', { name: 'Compose a batch' }).count());
  }

  async function pause(reason: string): Promise<void> {
    const { page } = operator;
    await page.getByRole('button', { name: /^Pause (?!all)/ }).click();
    const dialog = page.locator('dialog[open]');
    const asked = await dialog.locator('label').filter({ hasText: /^Type/ }).textContent();
    const confirm = dialog.getByRole('button', { name: 'Pause' });
    await dialog.getByLabel(/^Reason/).fill(reason);
    await dialog.getByLabel(/^Type/).fill('another');
    assert.ok(await confirm.isDisabled(), 'takes another name');
    await dialog.getByLabel(/^Type/).fill(/“(.+)”/.exec(asked ?? '')?.[1] ?? '');
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
  }
});

const DAY_MS = 86_400_000;

/** Passes an answer on as if the service's clock were ten days ahead. */
async function answerInTenDays(route: Route): Promise<void> {
  const response = await route.fetch();
  const date = new Date(Date.now() + 10 * DAY_MS).toUTCString();
  await route.fulfill({ response, headers: { ...response.headers(), date } });
}
