import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { holdSignatures } from './alterations.ts';
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
    await sign.click();
    await page.getByText('Project created').waitFor();
  });
});
