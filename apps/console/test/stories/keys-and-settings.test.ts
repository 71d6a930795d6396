import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KeySummary } from '@flywheel/api';
import { noBrowser } from '@flywheel/testing/browser';
import { getCurrent } from '@flywheel/testing/client';
import { alterAnswers, holdRequests, loseAnswers } from './alterations.ts';
import { askApi, checkScreen, checkScreenOnBoth, openStory, register, type Story, signIn } from './story.ts';

const PHONE = { size: 'phone', colorScheme: 'dark' } as const;

describe('keys and settings in a browser', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  it('rotate a key so that both keys work, and revoke one after its name is entered', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const project = await register(person);
    const answers = async (key: string) => (await getCurrent(story.world.url, key)).status !== 401;
    await page.goto(`/p/${project.projectId}/keys`);
    await page.getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('button', { name: 'Create the new key' }).click();
    const next = (await page.getByTestId('secret').textContent()) ?? '';
    await checkScreen(person, 'key-rotated');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('Both keys work until').waitFor();
    await checkScreen(person, 'keys-overlap');
    assert.deepEqual([await answers(project.apiKey), await answers(next)], [true, true]);

    // The old key, below the new one.
    await page
      .getByRole('button', { name: /^Revoke/ })
      .last()
      .click();
    const confirm = page.getByRole('button', { name: 'Revoke the key' });
    assert.ok(await confirm.isDisabled());
    const asked = await page.locator('dialog[open] label').textContent();
    await page.getByLabel(/^Type/).fill(/“(.+)”/.exec(asked ?? '')?.[1] ?? '');
    await confirm.click();
    await page.getByText('1 inactive key').waitFor();
    assert.deepEqual([await answers(project.apiKey), await answers(next)], [false, true]);
  });

  it('say that a replaced key ends without a successor, once the new key is revoked', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    await page.goto(`/p/${projectId}/keys`);
    await page.getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('button', { name: 'Create the new key' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('Both keys work until').waitFor();
    // The new key, above the old one.
    await page
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .click();
    const asked = await page.locator('dialog[open] label').textContent();
    await page.getByLabel(/^Type/).fill(/“(.+)”/.exec(asked ?? '')?.[1] ?? '');
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page
      .getByText(/The key that replaces it, .* was revoked\. This one works until .* create a new key/)
      .waitFor();
    assert.equal(await page.getByText('Both keys work until').count(), 0);
    await page.goto(`/p/${projectId}`);
    await page.getByText(/replaces it has ended already: create a new one before then/).waitFor();
  });

  it('show a key that was created although its answer, the only one with its secret, was lost', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    await page.goto(`/p/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('without a secret');
    const undo = await loseAnswers(page, '**/keys');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('dialog').getByText('No service answers at').waitFor();
    await undo();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Revoke without a secret' }).waitFor();
  });

  it('keep a new key on the screen until it is stored', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    await register(person);
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByTestId('secret').waitFor();
    for (const leave of ['history.back()', 'location.reload()']) {
      const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss());
      await page.evaluate(leave);
      await asked;
      assert.ok(await page.getByTestId('secret').isVisible(), `${leave} takes the key away`);
    }
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByTestId('secret').waitFor({ state: 'detached' });
  });

  it('revoke a key whose name no keyboard types as it is, and give none a name with more spaces than a page shows', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    assert.equal((await askApi(person, `/projects/${projectId}/keys`, { name: ' two  words' })).status, 200);
    await page.goto(`/p/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('backend ');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('backend').waitFor();
    const { text } = await askApi(person, `/projects/${projectId}/keys`);
    assert.ok(text.includes('"name":"backend"'), text);
    await page.getByRole('button', { name: 'Revoke two words' }).click();
    await page.getByLabel('Type “ two words” to confirm').fill('two words ');
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('1 inactive key').waitFor();
    // Its accent is a character of its own, and a mark of the direction ends it.
    const name = 'Cafe\u0301 \u05e7\u05e4\u05d4\u200f';
    assert.equal((await askApi(person, `/projects/${projectId}/keys`, { name })).status, 200);
    await page.reload();
    await page.getByRole('button', { name: /^Revoke Caf/ }).click();
    await page.getByLabel(/^Type “Caf/).fill('Caf\u00e9 \u05e7\u05e4\u05d4');
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('2 inactive keys').waitFor();
  });

  it('keep the dialog of a revocation open until the answer, which would close another one, and no error for the next key', async () => {
    const person = await story.visit();
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    for (const name of ['morning', 'evening'])
      assert.equal((await askApi(person, `/projects/${projectId}/keys`, { name })).status, 200);
    await page.goto(`/p/${projectId}/keys`);
    const dialog = page.getByRole('dialog');
    const restore = await alterAnswers(page, { of: /keys\/[\w-]+$/, change: () => '{}', status: 500 });
    await page.getByRole('button', { name: 'Revoke morning' }).click();
    await page.getByLabel(/^Type/).fill('morning');
    const revoke = page.getByRole('button', { name: 'Revoke the key' });
    await revoke.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await revoke.and(page.locator(':focus')).waitFor({ timeout: 5_000 });
    await restore();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Revoke evening' }).click();
    assert.equal(await dialog.getByRole('alert').count(), 0, 'it shows the error of another key');
    const revocation = await holdRequests(page, /keys\/[\w-]+$/, 'DELETE');
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'DELETE' && sent.push(request.url()));
    await page.getByLabel(/^Type/).fill('evening');
    await page.getByLabel(/^Type/).press('Enter');
    await revocation.reached;
    await revoke.press('Enter');
    await page.getByLabel(/^Type/).press('Enter');
    await page.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    assert.ok(await dialog.isVisible());
    assert.ok(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled());
    revocation.release();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal(sent.length, 1, 'it was sent again');
  });

  it('rotate a key without an overlap, and show the new one, which expires when the old one would', async () => {
    const person = await story.visit(PHONE);
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person);
    const keysNamed = async (name: string): Promise<readonly KeySummary[]> => {
      const { keys }: { readonly keys: readonly KeySummary[] } = JSON.parse(
        (await askApi(person, `/projects/${projectId}/keys`)).text,
      );
      return keys.filter((key) => key.name === name);
    };
    await page.goto(`/p/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('nightly');
    await page.getByLabel('Expires').selectOption({ label: 'in 30 days' });
    await page.getByRole('button', { name: 'Create the key' }).click();
    const secret = page.getByTestId('secret');
    const old = (await secret.textContent()) ?? '';
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const [created] = await keysNamed('nightly');
    assert.ok(created?.expiresAt);
    await page.getByRole('button', { name: 'Rotate nightly' }).click();
    await page.getByLabel('Keep the old key working for').selectOption({ label: 'no time: it stops now' });
    await page.getByText('The old key stops at once.').waitFor();
    const rotation = await holdRequests(page, '**/keys/*/rotate');
    await page.getByRole('button', { name: 'Create the new key and end the old one' }).click();
    // From here on the old key may have ended: who closes the dialog would never see the new one.
    await rotation.reached;
    await page.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    rotation.release();
    await page.getByText('The old key stopped working.').waitFor();
    const next = (await secret.textContent()) ?? '';
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))");
    await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('dialog').getByText('Could not copy. Select it yourself.').waitFor();
    // Nothing but its own button closes a dialog that has the only copy of a key, not even for a moment.
    await page.evaluate("document.querySelector('dialog[open]').onclose = () => { document.body.dataset.closed = '' }");
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('button', { name: 'Close' }).count(), 0);
    await checkScreen(person, 'key-rotated-at-once');
    assert.deepEqual([await secret.isVisible(), await page.locator('[data-closed]').count()], [true, 0]);
    const answers = async (key: string) => (await getCurrent(story.world.url, key)).status !== 401;
    assert.deepEqual([await answers(old), await answers(next)], [false, true]);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('1 inactive key').waitFor();
    assert.deepEqual(
      (await keysNamed('nightly')).map(({ state, expiresAt }) => [state, state === 'active' && expiresAt]),
      [
        ['active', created.expiresAt],
        ['expired', false],
      ],
    );
  });

  it('change a limit, and show by whom, from what and to what', async () => {
    const person = await story.visit(PHONE);
    const { page } = person;
    await signIn(person);
    const { projectId } = await register(person, { burnLimit: '1000' });
    await page.goto(`/p/${projectId}/settings`);
    await page.getByRole('button', { name: 'Change limits' }).click();
    await page.getByLabel('Daily burn limit, tokens').fill('2500.0000001');
    await page.getByText('The token has 6 decimals; this number has more.').waitFor();
    await page.getByLabel('Daily burn limit, tokens').fill('18446744073710');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('The daily burn limit 18446744073710 exceeds 18446744073709.551615').waitFor();
    await page.getByLabel('Daily burn limit, tokens').fill('2500.5');
    const change = await holdRequests(page, '**/limits');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await change.reached;
    // It cannot be cancelled any more.
    await page.getByRole('button', { name: 'Cancel', disabled: true }).waitFor();
    change.release();
    await page.getByText('Changed the daily limits').waitFor();
    assert.equal(await page.locator('s').first().textContent(), '1,000 tokens');
    await checkScreen(person, 'settings-changed');
  });

  it('replace no settings that another tab has saved meanwhile, until the person has seen them', async () => {
    const person = await story.visit();
    const { page, visit } = person;
    await signIn(person);
    const { projectId } = await register(person);
    const settings = async () => JSON.parse((await askApi(person, `/projects/${projectId}/settings`)).text);
    const other = await visit.context.newPage();
    const open = async (button: string) => {
      for (const tab of [page, other]) {
        await tab.goto(`/p/${projectId}/settings`);
        await tab.getByRole('button', { name: button }).click();
      }
    };
    const refused = page.getByRole('alert').filter({ hasText: 'Changed meanwhile: nothing was saved' });

    await open('Change limits');
    await other.getByLabel('Daily airdrop limit, tokens').fill('50');
    await other.getByRole('button', { name: 'Save limits' }).click();
    await other.getByText('Changed the daily limits').waitFor();
    await page.getByLabel('Daily burn limit, tokens').fill('7');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await refused.waitFor();
    await page.getByText('Changed the daily limits').waitFor();
    await checkScreenOnBoth(person, 'settings-changed-meanwhile');
    assert.equal(await page.getByLabel('Daily airdrop limit, tokens').inputValue(), '50', 'no other was typed');
    assert.equal((await settings()).burnLimit, '1000');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByRole('button', { name: 'Change limits' }).waitFor();
    const { burnLimit, airdropLimit } = await settings();
    assert.deepEqual([burnLimit, airdropLimit], ['7', '50']);

    await open('Change proof types');
    for (const [tab, type] of [
      [other, 'REFERRAL'],
      [page, 'WATCH_AD'],
    ] as const) {
      await tab.getByRole('button', { name: 'Add a proof type' }).click();
      await tab.getByLabel('Name', { exact: true }).fill(type);
      await tab.getByRole('button', { name: 'Save proof types' }).click();
      await tab.getByText('Changed the proof types').waitFor();
    }
    await refused.waitFor();
    await page.getByText('Removed when you save: REFERRAL.').waitFor();
    assert.deepEqual((await settings()).proofTypes, [{ type: 'REFERRAL' }]);
    await page.getByRole('button', { name: 'Save proof types' }).click();
    await page.getByRole('button', { name: 'Change proof types' }).waitFor();
    assert.deepEqual((await settings()).proofTypes, [{ type: 'WATCH_AD' }]);
  });
});
