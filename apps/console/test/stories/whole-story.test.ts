import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import type { Page } from 'playwright-core';
import { alterAnswers } from './alterations.ts';
import { isShownElsewhere } from './other-site.ts';
import {
  approve,
  askApi,
  CORS,
  checkScreen,
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

const PHONE = { size: 'phone' } as const;

describe('the whole story in a browser', { skip: noBrowser, concurrency: 2 }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  for (const options of [
    { size: 'desktop', colorScheme: 'light' },
    { size: 'phone', colorScheme: 'dark' },
  ] as const) {
    describe(`on a ${options.size}, ${options.colorScheme}:`, { concurrency: 1 }, () => {
      const pipelines = [burnPipeline(2), burnPipeline(3)] as const;
      let person: Person;
      let project: Registered;
      let batchId: string;

      it('goes from signing in to an executed batch', async () => {
        person = await story.visit(options);
        const { page } = person;
        await checkScreen(person, 'home');
        await signIn(person);
        project = await register(person, {
          onScreen: async (name) => {
            await checkScreen(person, name);
            if (name === 'register-6-created') await staysWithKey(page);
          },
        });
        const deposit = 'The vault has no SOL and no tokens. Deposit SOL and tokens so that batches can execute.';
        await page.getByText(deposit).waitFor();
        await page.getByText('0 of 5 done').waitFor();
        await checkScreen(person, 'overview-new');
        await page.getByRole('button', { name: /^Local cluster: deposit/ }).click();
        await page.getByText('1 of 5 done').waitFor();
        await page.getByText('Nothing to do').waitFor();
        batchId = await initByApi(story, project, pipelines);
        await openApproval(person, project, batchId);
        await checkScreen(person, 'approve');
        await approve(person);
        await page.getByText('2 of 2 pipelines executed.').waitFor();
        await checkScreen(person, 'approved');
        await page.getByRole('link', { name: 'View batch' }).click();
        await page.getByText('Rent returned').first().waitFor();
        await checkScreen(person, 'batch');
      });

      it('shows the results on every screen', async () => {
        const { page } = person;
        await page.goto(`/p/${project.projectId}`);
        await page.getByText('of 1,000').first().waitFor();
        await page.getByText('995 tokens left until').waitFor();
        await page.getByText('Nothing to do').waitFor();
        await page.getByText('4 of 5 done').waitFor();
        const chart = page.getByRole('slider', { name: 'Day of the chart of 30 days' });
        await chart.focus();
        assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /: 5 \S+ burned, 0 \S+ airdropped$/);
        await chart.press('ArrowLeft');
        assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /: 0 \S+ burned/);
        await page.getByText(/^on .+, UTC$/).waitFor();
        await chart.hover({ position: { x: 2, y: 20 } });
        const firstDay = new Intl.DateTimeFormat('en-US', { day: 'numeric', month: 'short', timeZone: 'UTC' });
        await page.getByText(`on ${firstDay.format(Date.now() - 29 * 86_400_000)}, UTC`).waitFor();
        await checkScreen(person, 'overview');
        await page.getByRole('button', { name: 'Hide' }).click();
        await page.getByText('First steps').waitFor({ state: 'detached' });
        await page.getByRole('link', { name: 'Batches', exact: true }).click();
        const table = page.getByRole('table', { name: 'Batches' });
        await table.getByRole('link', { name: 'Executed' }).waitFor();
        await checkScreen(person, 'batches');
        await page.getByRole('button', { name: 'Failed' }).click();
        await page.getByText('No failed batches').waitFor();
        assert.equal(await page.locator('main h1:focus').count(), 0, 'another query moves no focus');
        await checkScreen(person, 'batches-none');
        await page.goto('/');
        await page.getByRole('heading', { name: 'Your projects' }).waitFor();
        await checkScreen(person, 'projects');
      });

      it('finds its proof by payload and by signature, and no other', async () => {
        const { page } = person;
        const [{ type, payload }] = pipelines;
        const check = async (asked: { readonly type: string; readonly payload: string }) => {
          await page.goto('/proof');
          await page.getByLabel('Type', { exact: true }).fill(asked.type);
          await page.getByLabel(/^Payload/).fill(asked.payload);
          await page.getByRole('button', { name: 'Check the proof' }).click();
        };
        await check({ type, payload });
        await page.getByRole('heading', { name: 'Proven' }).waitFor();
        await page.getByText(/^Pipeline \d of batch 1$/).waitFor();
        await checkScreen(person, 'proof-by-payload');
        await check({ type, payload: `${payload} ` });
        await page.getByRole('heading', { name: 'No proof found' }).waitFor();
        await check({ type: 'NEVER_SENT', payload });
        await page.getByRole('heading', { name: 'No proof found' }).waitFor();
        await checkScreen(person, 'proof-of-nothing');

        const { text } = await askApi(person, `/projects/${project.projectId}/batches/${batchId}`);
        const batch: { readonly pipelines: readonly { readonly signature: string }[] } = JSON.parse(text);
        await page.goto('/proof');
        await page.getByRole('button', { name: 'Signature' }).click();
        await page.getByLabel('Transaction signature').fill(batch.pipelines[0]?.signature ?? '');
        await page.getByRole('button', { name: 'Check the proof' }).click();
        await page.getByRole('heading', { name: 'Proven' }).waitFor();
        await takeScreenshot(person, 'proof-by-signature');
      });

      it('offers a badge and a widget, which another site shows; it can frame nothing else', async () => {
        const { page } = person;
        await page.goto(`/p/${project.projectId}/vault`);
        await page.getByRole('img', { name: 'Badge: what the vault has burned' }).waitFor();
        await page.getByText('title="Burned so far"').waitFor();
        await checkScreen(person, 'vault');
        await isShownElsewhere(story, project, { burned: '5', options });
      });
    });
  }

  it('says that an unknown address is none, and leads home', async () => {
    const person = await story.visit(PHONE);
    const { page } = person;
    await page.goto('/nowhere');
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    assert.equal(await page.title(), 'Page not found · Flywheel');
    await checkScreen(person, 'not-found');
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByRole('button', { name: 'Connect wallet' }).first().waitFor();
  });

  it('offers no free tokens where the cluster has none to give', async () => {
    const person = await story.visit();
    const { page } = person;
    const isAsked = Promise.withResolvers<void>();
    await page.route(`${story.world.localnet.url}/**`, async (route) => {
      const { id } = route.request().postDataJSON();
      const json = { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } };
      await route.fulfill({ json, headers: CORS });
      isAsked.resolve();
    });
    await signIn(person);
    await page.goto('/register');
    await isAsked.promise;
    await page.getByLabel('Mint address').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Create a token' }).count(), 0);
  });

  it('goes back a step of a registration on a phone, and keeps what was entered', async () => {
    const person = await story.visit(PHONE);
    const { page } = person;
    await signIn(person);
    await page.goto('/register');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByText('Registration cost', { exact: true }).waitFor();
    const mint = await page.getByLabel('Mint address').inputValue();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Daily burn limit, tokens').fill('77');
    await page.getByRole('button', { name: 'Back' }).click();
    assert.equal(await page.getByLabel('Mint address').inputValue(), mint);
    await page.getByRole('button', { name: 'Continue' }).click();
    assert.equal(await page.getByLabel('Daily burn limit, tokens').inputValue(), '77');
  });

  it('continues after a late and outdated first answer about a batch', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const project = await register(person);
    await fund(person, project);
    await page.goto(`/p/${project.projectId}`);
    await page.getByRole('button', { name: 'Local cluster: create this batch' }).click();
    await page.waitForURL('**/approve/*');
    const batchId = page.url().split('/').at(-1) ?? '';
    await openApproval(person, project, batchId);
    const old = (text: string) => text.replace('"waitsFor":"wallet"', '"waitsFor":"setup"');
    const undo = await alterAnswers(page, { of: new RegExp(`/batches/${batchId}$`), change: old });
    const isAskedAgain = Promise.withResolvers<void>();
    let asked = 0;
    await page.route(`**/batches/${batchId}/progress`, async (route) => {
      asked += 1;
      if (asked > 1) {
        isAskedAgain.resolve();
        return route.continue();
      }
      const answer = await route.fetch();
      const text = await answer.text();
      await isAskedAgain.promise;
      // The page may have cancelled the request.
      await route.fulfill({ response: answer, body: old(text) }).catch(() => undefined);
    });
    await openApproval(person, project, batchId);
    await undo();
  });
});

/** Asserts that the page asks before it takes the new key away, and stays if the person does not want that. */
async function staysWithKey(page: Page): Promise<void> {
  const asked = page.waitForEvent('dialog').then(async (dialog) => {
    await dialog.dismiss();
    return dialog.message();
  });
  await page.getByRole('link', { name: 'Flywheel' }).click();
  assert.match(await asked, /only once/);
  await page.getByText('Project created').waitFor();
}
