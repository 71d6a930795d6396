import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rotationMessage } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { noBrowser } from '@flywheel/testing/browser';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { requireOk, signIn as signInByApi } from '@flywheel/testing/project';
import { type Address, createSignableMessage, generateKeyPairSigner, getBase58Decoder } from '@solana/kit';
import { ADD_SILENT_WALLET, addWallet, holdRequests, holdSignatures } from './alterations.ts';
import {
  approve,
  checkScreen,
  fund,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  takeScreenshot,
  untilVerified,
} from './story.ts';

describe('the treasury in a browser', { skip: noBrowser, concurrency: 2 }, () => {
  let story: Story;
  let company: Decider;
  before(async () => {
    const wallet = await generateKeyPairSigner();
    story = await openStory({ COMPANY_OPERATORS: wallet.address });
    company = { wallet, cookie: await signInByApi(story.world.url, wallet) };
  });
  after(() => story.stop());

  for (const options of [
    { size: 'desktop', colorScheme: 'light' },
    { size: 'phone', colorScheme: 'dark' },
  ] as const) {
    it(`withdraws SOL with a warning of a new address, and rotates the wallet, ${options.size}, ${options.colorScheme}`, async () => {
      const person = await story.visit(options);
      const { page } = person;
      const from = await signIn(person);
      const project = await register(person);
      await fund(person, project);

      const to = (await generateKeyPairSigner()).address;
      await page.getByLabel('Recipient’s wallet').fill(to);
      await page.getByLabel('Amount, SOL').fill('0.9995');
      await page.getByText('Leave at least 0.00089088 SOL, or withdraw everything.').waitFor();
      await checkScreen(person, 'withdraw-problem');
      await page.getByLabel('Amount, SOL').fill('0.25');
      await page.getByRole('button', { name: 'Create withdrawal' }).click();
      await page.getByText(`${to} has no account on this chain yet`).waitFor();
      await checkScreen(person, 'withdraw-warnings');
      await page.getByRole('link', { name: 'Review and approve' }).click();
      await untilVerified(person);
      await page.getByText('To withdraw').waitFor();
      await takeScreenshot(person, 'withdraw-approve');
      await page.goto(`/p/${project.projectId}`);
      await page.getByText('To withdraw 0.25 SOL').waitFor();
      await page.goto(`/p/${project.projectId}/batches`);
      const row = page.getByRole('row').filter({ hasText: 'Withdrawal 1' });
      await row.getByText('0.25 SOL').waitFor();
      assert.match((await row.textContent()) ?? '', /To withdraw/);
      assert.equal(await row.getByText(/^Burn$|^Airdrop$/).count(), 0);
      // The words stand beside the amount: under the heads of the table it would be read as an airdrop.
      const word = await row.getByText('To withdraw', { exact: true }).boundingBox();
      assert.ok(word && word.width > 20, 'the word is there for screen readers only');
      const card = await row.boundingBox();
      assert.ok(card && card.height < 180, 'a withdrawal is as high as a batch with burns and airdrops');
      await checkScreen(person, 'withdraw-batches');
      await row.getByRole('link').click();
      await page.getByRole('link', { name: 'Review and approve' }).filter({ visible: true }).click();
      await untilVerified(person);
      await approveByBoth(person);
      const lamports = async () => (await story.world.rpc.getBalance(to as Address).send()).value;
      await waitUntil('the withdrawal', lamports, (held) => held === 250_000_000n);

      const next = await generateKeyPairSigner();
      await page.goto(`/p/${project.projectId}/settings`);
      await page.getByRole('button', { name: 'Replace', exact: true }).click();
      await page.getByLabel('Address of the new wallet').fill(next.address);
      const text = rotationMessage({
        projectId: project.projectId,
        multisig: await multisigOf(project),
        from,
        to: next.address,
      });
      assert.equal(await page.locator('pre', { hasText: 'takes over a project' }).textContent(), text);
      const [signatures] = await next.signMessages([createSignableMessage(text)]);
      const signature = getBase58Decoder().decode(signatures?.[next.address] ?? new Uint8Array());
      await page.getByLabel('Signature of the new wallet (only if it is not in this browser)').fill(signature);
      await checkScreen(person, 'rotate');
      await page.getByRole('button', { name: 'Continue with this signature' }).click();
      await untilVerified(person);
      await takeScreenshot(person, 'rotate-approve');
      await approveByBoth(person);
      const wallet = async () => (await rowOf(project)).wallet;
      await waitUntil('the new wallet', wallet, (found) => found === next.address);
    });
  }

  it('leaves a person where they have gone while a withdrawal was created', async () => {
    const person = await story.visit();
    const { page } = person;
    const to = await signIn(person);
    const project = await register(person);
    await fund(person, project);
    await page.getByLabel('Recipient’s wallet').fill(to);
    await page.getByLabel('Amount, SOL').fill('0.1');
    const creation = await holdRequests(page, '**/withdrawals');
    await page.getByRole('button', { name: 'Create withdrawal' }).click();
    await creation.reached;
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    creation.release();
    await page.getByText('To withdraw').first().waitFor();
    assert.match(page.url(), new RegExp(`/p/${project.projectId}/?$`));
  });

  it('does not rotate the wallet when the new one signs after the person has cancelled', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    await register(person);
    await page.getByRole('link', { name: 'Settings' }).first().click();
    const next = await addWallet(person, 'Next wallet');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await page.getByLabel('Address of the new wallet').fill(next);
    const wallet = await holdSignatures(page);
    await page.getByRole('button', { name: 'Sign with the new wallet' }).click();
    await wallet.reached;
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const sent = page.waitForRequest((request) => request.method() === 'POST', { timeout: 1_000 });
    wallet.release();
    await assert.rejects(sent, { name: 'TimeoutError' }, 'the replacement was sent after it was cancelled');
  });

  it('opens the window of a wallet that answers nothing without it', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    await register(person);
    await page.getByRole('link', { name: 'Settings' }).first().click();
    await page.evaluate(ADD_SILENT_WALLET);
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await page.getByLabel('Address of the new wallet').fill((await generateKeyPairSigner()).address);
    await page.getByRole('button', { name: 'Sign with the new wallet' }).click();
    await waitUntil(
      'the window',
      () => page.evaluate('globalThis.timesAsked'),
      (times) => times === 2,
    );
  });

  /** Approves by the wallet in the browser, then by an operator of the company. */
  async function approveByBoth(person: Person): Promise<void> {
    await approve(person);
    await person.page.getByText('Waiting for the company').first().waitFor();
    const batchId = person.page.url().split('/').at(-1) ?? '';
    requireOk(await approveForCompany(story.world, company, batchId));
  }

  async function multisigOf(project: Registered): Promise<string> {
    return (await rowOf(project)).multisig;
  }

  function rowOf({ projectId }: Registered) {
    return story.world.db
      .selectFrom('flywheels')
      .select(['wallet', 'multisig'])
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow();
  }
});
