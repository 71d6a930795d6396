import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { addWallet, holdRequests, holdSignatures } from './alterations.ts';
import { asksBeforeItIsLeft, openRegistrationReview, openStory, type Person, type Story, signIn } from './story.ts';

describe('a registration in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
  });
  after(() => story.stop());

  it('keeps its input when the person goes back and forward in the browser, and asks before it is left', async () => {
    const { page } = person;
    const next = () => page.getByRole('button', { name: /^Continue/ }).click();
    const [mint, limit] = [page.getByLabel('Mint address'), page.getByLabel('Daily burn limit, tokens')];
    await page.getByRole('link', { name: 'Register a project' }).first().click();
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByText('Registration cost', { exact: true }).waitFor();
    const typed = await mint.inputValue();
    await next();
    await limit.fill('12.5');
    await next();
    await page.getByRole('button', { name: 'Continue without proof types' }).waitFor();
    await page.goBack();
    assert.equal(await limit.inputValue(), '12.5');
    await page.goBack();
    assert.equal(await mint.inputValue(), typed);
    await asksBeforeItIsLeft(person);
    await page.goForward();
    await limit.fill('none');
    await page.goForward();
    assert.equal(await limit.inputValue(), 'none', 'a step is left whose input is invalid');
    await limit.fill('12.5');
    await next();
    await page.getByRole('button', { name: 'Continue without proof types' }).waitFor();
  });

  it('keeps its input when the page is loaded again, for its wallet alone, until the person leaves it', async () => {
    const { page } = person;
    const mint = page.getByLabel('Mint address');
    const cost = page.getByText('One-time cost, paid by your wallet');
    await openRegistrationReview(page, { burnLimit: '12.5', isManual: true });
    await cost.waitFor();
    await page.reload();
    await cost.waitFor();
    await page.getByText('12.5 tokens').waitFor();
    await page.goBack();
    assert.ok(await page.getByRole('radio', { name: 'Manual' }).isChecked());
    await story.world.db.deleteFrom('sessions').execute();
    await page.reload();
    await page.getByText('Sign in first').waitFor();
    await addWallet(person, 'Second wallet');
    await page.locator('main').getByRole('button', { name: 'Connect wallet' }).click();
    await page.getByRole('button', { name: 'Second wallet' }).click();
    assert.equal(await mint.inputValue(), '', 'another wallet sees it');
    await story.world.db.deleteFrom('sessions').execute();
    await page.goto('/register');
    await signIn(person);
    assert.notEqual(await mint.inputValue(), '', 'it is lost with the session');
    page.once('dialog', (dialog) => void dialog.accept());
    await page.locator('header').getByRole('link', { name: 'Flywheel' }).click();
    await page.getByRole('link', { name: 'Register a project' }).first().click();
    assert.equal(await mint.inputValue(), '', 'it is kept although the person has left it');
  });

  it('moves the focus to the heading of each step, and of the new project', async () => {
    const { page } = person;
    const isFocused = (name: string) => page.locator('main h2:focus').filter({ hasText: name }).waitFor();
    await page.goto('/register');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByText('Registration cost', { exact: true }).waitFor();
    assert.equal(await page.locator('h2:focus').count(), 0, 'the focus is moved while the person fills in a step');
    for (const step of ['Limits', 'Proof types', 'Approval', 'Review']) {
      await page.getByRole('button', { name: /^Continue/ }).press('Enter');
      await isFocused(step);
    }
    await page.goBack();
    await isFocused('Approval');
    await page.getByRole('navigation', { name: 'Steps' }).getByRole('button', { name: 'Limits' }).press('Enter');
    await isFocused('Limits');
    await page.goBack();
    await page.goForward();
    await isFocused('Limits');
  });

  it('goes on from the token only once a new one is created, which would take the place of the one that was given', async () => {
    const { page } = person;
    const next = page.getByRole('button', { name: /^Continue/ });
    await page.goto('/register');
    // The page has kept the token of an earlier test.
    await page.getByLabel('Mint address').fill('');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByText('Registration cost', { exact: true }).waitFor();
    const given = await page.getByLabel('Mint address').inputValue();
    const creation = await holdRequests(page, `${story.world.localnet.url}/**`, 'POST');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await creation.reached;
    // Otherwise the person is taken back to the token later.
    await page.getByRole('button', { name: /^Continue/, disabled: true }).waitFor();
    creation.release();
    await next.click();
    await page.getByLabel('Daily burn limit, tokens').waitFor();
    await page.goBack();
    assert.notEqual(await page.getByLabel('Mint address').inputValue(), given);
  });

  it('can stop waiting for a wallet that does not answer, sends nothing when it answers late, and can ask it again', async () => {
    const { page } = person;
    await openRegistrationReview(page);
    const wallet = await holdSignatures(page);
    const sign = page.getByRole('button', { name: 'Sign and create the project' });
    await sign.click();
    await wallet.reached;
    await page.getByRole('button', { name: 'Stop waiting' }).click();
    await page.getByRole('alert').filter({ hasText: 'You stopped waiting for the wallet' }).waitFor();
    const sent = page.waitForRequest(/\/confirm$/, { timeout: 1_000 });
    wallet.release();
    await assert.rejects(sent, { name: 'TimeoutError' }, 'a late signature was sent');
    await page.locator('main h2:focus').filter({ hasText: 'Review' }).waitFor();
    await sign.click();
    await page.locator('main h2:focus').filter({ hasText: 'Project created' }).waitFor();
  });
});
