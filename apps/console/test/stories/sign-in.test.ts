import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { shorten } from '@flywheel/protocol';
import { noBrowser } from '@flywheel/testing/browser';
import { address } from '@solana/kit';
import { ADD_SILENT_WALLET, addWallet, holdSignatures } from './alterations.ts';
import { openRegistrationReview, openStory, type Story, signIn } from './story.ts';

describe('signing in with a browser', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  it('asks a wallet again that has not answered, once the dialog was closed', async () => {
    const { page } = await story.visit();
    await page.evaluate(ADD_SILENT_WALLET);
    for (const attempt of [1, 2]) {
      await page
        .getByRole('button', { name: /^Connect/ })
        .first()
        .click();
      const wallet = page.getByRole('button', { name: 'Silent wallet' });
      await wallet.press('Enter');
      await wallet.and(page.locator('[aria-disabled=true]:focus')).waitFor();
      // The text to sign comes from the service first.
      await page.waitForFunction(`globalThis.timesAsked === ${attempt}`);
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate('globalThis.timesAsked'), attempt);
      await page.getByRole('button', { name: 'Close' }).click();
    }
  });

  it('again lets a person go on with a registration whose review failed without a session', async () => {
    const person = await story.visit();
    const { page } = person;
    const wallet = address(await signIn(person));
    await page.route(
      '**/registrations',
      async (route) => {
        await story.world.db.deleteFrom('sessions').where('wallet', '=', wallet).execute();
        await route.continue();
      },
      { times: 1 },
    );
    await openRegistrationReview(page);
    await page.getByText('Sign in first').waitFor();
    await signIn(person);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('One-time cost, paid by your wallet').waitFor();
  });

  it('does not sign in when the wallet answers after the dialog was closed', async () => {
    const person = await story.visit();
    const { page } = person;
    const connect = page.getByRole('button', { name: /^Connect/ }).first();
    const late = await holdSignatures(page);
    await connect.click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    await late.reached;
    await page.getByRole('button', { name: 'Close' }).click();
    const sent = page.waitForRequest('**/console/api/sign-in', { timeout: 1_000 });
    late.release();
    await assert.rejects(sent, { name: 'TimeoutError' }, 'a late signature was sent');
    await connect.waitFor();
    await signIn(person);
    await page
      .getByRole('button', { name: /^Signed in as/ })
      .and(page.locator(':focus'))
      .waitFor();
  });

  it('is not undone by an answer about the session before it', async () => {
    const person = await story.visit();
    const { page } = person;
    const [read, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const path = '**/console/api/session';
    await page.route(
      path,
      async (route) => {
        const response = await route.fetch();
        read.resolve();
        await released.promise;
        // The page may have cancelled the request.
        await route.fulfill({ response }).catch(() => undefined);
      },
      { times: 1 },
    );
    await page.evaluate(RETURN_TO_TAB);
    await read.promise;
    await signIn(person);
    await page.evaluate(`new MutationObserver(() => {
      if (/Connect/.test(document.querySelector('header')?.textContent)) document.body.dataset.signedOut = '';
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
    released.resolve();
    const next = page.waitForResponse(path);
    await page.evaluate(RETURN_TO_TAB);
    await next;
    await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
    assert.equal(await page.locator('[data-signed-out]').count(), 0, 'the page showed no session');
  });

  it('signs in with the wallet that was chosen last, whichever answers first', async () => {
    const person = await story.visit();
    const { page } = person;
    const senders: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/console/api/sign-in')) senders.push(request.postDataJSON().wallet);
    });
    const chosen = await addWallet(person, 'Second wallet');
    const late = await holdSignatures(page);
    await page
      .getByRole('button', { name: /^Connect/ })
      .first()
      .click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    await late.reached;
    const asked = page.waitForResponse('**/sign-in/challenge');
    await page.getByRole('button', { name: 'Second wallet' }).click();
    await asked;
    late.release();
    await page.getByRole('button', { name: `Signed in as ${shorten(chosen)}` }).waitFor();
    assert.deepEqual(senders, [chosen]);
  });

  it('lasts on a computer whose clock is a day ahead', async () => {
    const person = await story.visit();
    const { page } = person;
    await page.clock.setFixedTime(Date.now() + 86_400_000);
    await page.goto('/');
    await signIn(person);
    await page.goto('/register');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByText('Registration cost', { exact: true }).waitFor();
    assert.equal(await page.getByText('Your session expires at').count(), 0, 'it is said to end');
  });

  it('is asked for again before the session ends, also where the clock is a day behind, and gives the focus to the screen', async () => {
    const person = await story.visit();
    const { page } = person;
    await page.clock.setFixedTime(Date.now() - 86_400_000);
    const wallet = address(await signIn(person));
    const soon = new Date(Date.now() + 240_000);
    await story.world.db.updateTable('sessions').set({ expires_at: soon }).where('wallet', '=', wallet).execute();
    await page.goto('/');
    const warning = page.getByText('Your session expires at');
    await warning.waitFor();
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByRole('button', { name: /Test wallet in this browser/ }).click();
    await warning.waitFor({ state: 'detached' });
    await page.locator('main h1:focus').waitFor();
  });
});

/** The session is read again when a person returns to the tab. */
const RETURN_TO_TAB = "dispatchEvent(new Event('visibilitychange'))";
