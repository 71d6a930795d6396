import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { BatchRow } from '@flywheel/api';
import { storeFailedBatches, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import { generateKeyPairSigner } from '@solana/kit';
import { alterAnswers, holdRequests, loseAnswers } from './alterations.ts';
import {
  approve,
  askApi,
  BASE_UNITS,
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
  takeScreenshot,
  tokensOf,
  untilVerified,
} from './story.ts';

/** The longest name that is allowed: no screen may become wider by it. */
const LONG_NAME = 'Watch ad to its end and then tell a friend about what was seen i';
const TYPE = LONG_NAME.replaceAll(' ', '_');

describe('a batch composed by hand in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
    await fund(person, project);
  });
  after(() => story.stop());

  it('uses a proof type whose schema was tried out while it was entered', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/settings`);
    await page.getByRole('button', { name: 'Change proof types' }).click();
    await page.getByRole('button', { name: 'Add a proof type' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill(LONG_NAME);
    await page.getByLabel('Description').fill('A video, watched to its end');
    const schema = page.getByLabel(/^JSON Schema/);
    const save = page.getByRole('button', { name: 'Save proof types' });
    await schema.fill('{"type":"object"');
    assert.equal(await save.isDisabled(), true);
    await schema.fill('{"type":"object","required":["adId"],"properties":{"adId":{"type":"string"}}}');
    await page.getByText("must have required property 'adId'").waitFor();
    await checkScreenOnBoth(person, 'schema-trial');
    await page.getByLabel('Try a payload').fill('{"adId":7}');
    await page.getByText('This payload satisfies the schema.').waitFor({ state: 'detached' });
    await page.getByLabel('Try a payload').fill('{"adId":"7"}');
    await page.getByText('This payload satisfies the schema.').waitFor();
    await save.click();
    await page.getByText('Payloads must match a schema').waitFor();
    assert.equal(await page.locator('code').getByText(TYPE, { exact: true }).count(), 1);
    await checkScreenOnBoth(person, 'settings-long-type');
  });

  it('is composed, shows its issues and sizes, is approved and executed', async () => {
    const { page } = person;
    const recipient = (await generateKeyPairSigner()).address;
    await page.goto(`/p/${project.projectId}/new`);
    const review = page.getByRole('button', { name: 'Review' });
    await page.getByLabel('Action').selectOption({ label: 'Airdrop' });
    await page.getByLabel('Tokens', { exact: true }).fill('1.5');
    await page.getByLabel('Recipient’s wallet').fill('nobody');
    await page.getByText("must have required property 'adId'").waitFor();
    await page.getByLabel(/^Payload/).fill('{"adId":"by hand"}');
    await page.getByText('This is not a Solana address: enter 32 to 44 letters and digits.').first().waitFor();
    assert.equal(await review.isDisabled(), true);
    await checkScreenOnBoth(person, 'by-hand-wrong');
    await page.getByLabel('Recipient’s wallet').fill(recipient);
    const small = await bytesOf(person);
    await page.getByRole('button', { name: 'Add an action' }).click();
    await page.getByLabel('Tokens', { exact: true }).nth(1).fill('2');
    assert.ok((await bytesOf(person)) > small, 'a second action takes no room');
    await page.getByRole('button', { name: 'Add a pipeline' }).click();
    const second = page.getByRole('group', { name: 'Pipeline 1' });
    await second.getByLabel(/^Payload/).fill('{"adId":"2"}');
    await second.getByLabel('Action').selectOption({ label: 'Memo' });
    await second.getByLabel('Text').fill('x'.repeat(2_000));
    await page.getByText(/bytes; one transaction holds/).waitFor();
    assert.equal(await review.isDisabled(), true, 'what no transaction holds can be reviewed');
    await second.getByLabel('Text').fill('Thank you.');
    await checkScreenOnBoth(person, 'by-hand');
    await review.press('Enter');
    await page.locator('main h2:focus').filter({ hasText: 'Review' }).waitFor();
    await page.getByRole('button', { name: 'Back to editing' }).press('Enter');
    await page.locator('main h1:focus').waitFor();
    await review.click();
    await page.getByRole('button', { name: 'Create the batch' }).waitFor();
    await page.locator('article button[aria-expanded=false]').first().click();
    await page.getByText(recipient, { exact: true }).waitFor();
    await checkScreenOnBoth(person, 'by-hand-review');
    await page.getByRole('button', { name: 'Create the batch' }).click();
    await untilVerified(person);
    await approve(person);
    await page.getByText('2 of 2 pipelines executed.').waitFor();
    await page.getByRole('link', { name: 'View batch' }).click();
    await page.getByText('Executed').first().waitFor();
    await checkScreenOnBoth(person, 'by-hand-executed');
    assert.equal(await tokensOf(story, project, recipient), (BASE_UNITS * 3n) / 2n);
  });

  it('needs only the keyboard, and the focus is always visible', async () => {
    const { page } = person;
    const { projectId } = project;
    const batchId = await initByApi(story, project, [{ ...burnPipeline(3), type: TYPE, payload: '{"adId":"keys"}' }]);
    await waitForBatch(story.world, project, batchId, ({ status }) => status === 'FINALIZED');
    await page.goto(`/p/${projectId}`);
    await page.getByText('Burn limit used today').waitFor();
    assert.equal(await focusedTag(person), 'BODY', 'the first screen of a document moves no focus');
    await page.getByText('Ctrl K').waitFor();
    for (const [keys, place] of [
      ['gb', 'batches'],
      ['gk', 'keys'],
      ['gv', 'vault'],
      ['gn', 'new'],
      ['gs', 'settings'],
    ] as const) {
      await pressSequence(person, keys, `**/p/${projectId}/${place}`);
      await page.locator('main h1:focus').waitFor();
    }
    for (const chord of ['Control+k', 'Meta+k']) {
      await page.keyboard.press(chord);
      await page.getByRole('dialog', { name: 'Command palette' }).waitFor();
      await page.keyboard.press('Escape');
      // Found by its tag: a closed dialog has no role just before it is removed.
      await page.locator('dialog[aria-label="Command palette"]').waitFor({ state: 'detached' });
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Command palette' }).waitFor();
    await page.keyboard.type('#2');
    await page.getByRole('option', { name: /^Batch 2.*Waiting for you$/ }).waitFor();
    assert.equal(await page.getByRole('option', { name: /^Batch/ }).count(), 1);
    await checkScreenOnBoth(person, 'palette');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/batches/${batchId}`);
    await pressSequence(person, 'gb', `**/p/${projectId}/batches`);
    await page.getByRole('link', { name: 'Waiting for you' }).waitFor();
    await page.getByText('planned').waitFor();
    // That of the batch before comes back when its end is final.
    await page
      .getByText(/^\+ 0\.\d+ SOL rent, comes back$/)
      .first()
      .waitFor();
    await checkScreenOnBoth(person, 'batches-waiting');
    const table = page.getByRole('table', { name: 'Batches' });
    for (const unnamed of ['tr:not([role="row"])', 'td:not([role="cell"])', 'th:not([role="columnheader"])']) {
      assert.equal(await table.locator(unnamed).count(), 0, unnamed);
    }
    await page.keyboard.press('j');
    assert.equal(await focusedTag(person), 'H1', 'a bare key does nothing outside of the table');
    // The filter of this name comes before the row.
    await tabTo(person, 'Waiting for you');
    await tabTo(person, 'Waiting for you');
    await page.keyboard.press('j');
    assert.equal(await page.evaluate('document.activeElement.dataset.row'), '1');
    await page.keyboard.press('k');
    assert.equal(await page.evaluate('document.activeElement.dataset.row'), '0');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/batches/${batchId}`);
    await page.getByRole('link', { name: 'Review and approve' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Rent returned' }).getByText('Not yet').waitFor();
    await tabTo(person, 'Review and approve');
    await page.keyboard.press('Enter');
    await untilVerified(person);
    await tabTo(person, 'Approve with wallet');
    await takeScreenshot(person, 'keys-approve');
    await page.keyboard.press('Enter');
    await page
      .locator('main h1:focus')
      .filter({ hasText: /^Batch 2$/ })
      .waitFor();
    await page.getByText('1 of 1 pipeline executed.').waitFor();
  });

  it('shows no motion to visitors who prefer reduced motion', async () => {
    const { page } = person;
    const batchId = await initByApi(story, project, [{ ...burnPipeline(1), type: TYPE, payload: '{"adId":"still"}' }]);
    await openApproval(person, project, batchId);
    const undo = await alterAnswers(page, {
      of: new RegExp(`/batches/${batchId}(/progress)?$`),
      change: (text) => text.replace('"waitsFor":"wallet"', '"waitsFor":"setup"'),
    });
    const moving =
      "document.getAnimations().filter((it) => it.playState === 'running' && it.effect.getComputedTiming().iterations > 1).length";
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await page.reload();
    await page.getByText('Setting up on chain').waitFor();
    assert.ok((await page.evaluate<number>(moving)) > 0, 'nothing turns while the batch is set up');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    assert.equal(await page.evaluate(moving), 0);
    await undo();
  });

  it('is created once if the answer is lost and the person goes back before the next attempt', async () => {
    const { page } = person;
    const { projectId } = project;
    const count = async () => {
      const { text } = await askApi(person, `/projects/${projectId}/batches`);
      return (JSON.parse(text) as { readonly batches: readonly BatchRow[] }).batches.length;
    };
    const before = await count();
    await page.goto(`/p/${projectId}/new`);
    await page.getByLabel(/^Payload/).fill('{"adId":"lost"}');
    await page.getByLabel('Tokens', { exact: true }).fill('0.25');
    page.once('dialog', (dialog) => void dialog.dismiss());
    await page.getByRole('link', { name: 'Vault' }).first().click();
    await page.getByRole('button', { name: 'Review' }).click();
    const undo = await loseAnswers(page, /\/console\/api\/projects\/[^/]+\/batches$/);
    const create = page.getByRole('button', { name: 'Create the batch' });
    await create.click();
    await page.getByRole('main').getByRole('alert').filter({ hasText: 'No service answers at' }).waitFor();
    await undo();
    assert.equal(await count(), before + 1, 'the service has created it');
    await page.getByRole('button', { name: 'Back to editing' }).click();
    await page.getByRole('button', { name: 'Review' }).click();
    await create.click();
    await page.waitForURL(`**/p/${projectId}/approve/*`);
    assert.equal(await count(), before + 1);
  });

  it('cannot be edited while it is created, which going back would not end', async () => {
    const { page } = person;
    await page.goto(`/p/${project.projectId}/new`);
    await page.getByLabel(/^Payload/).fill('{"adId":"slow"}');
    await page.getByLabel('Tokens', { exact: true }).fill('0.5');
    await page.getByRole('button', { name: 'Review' }).click();
    const creation = await holdRequests(page, /\/console\/api\/projects\/[^/]+\/batches$/, 'POST');
    const back = page.getByRole('button', { name: 'Back to editing' });
    assert.equal(await back.isEnabled(), true);
    await page.getByRole('button', { name: 'Create the batch' }).click();
    await creation.reached;
    await back.and(page.locator(':disabled')).waitFor();
    creation.release();
    await page.waitForURL(`**/p/${project.projectId}/approve/*`);
    await page.unrouteAll();
  });

  it('is followed by the tab in sight alone, which otherwise could wait for a connection', async () => {
    const { page } = person;
    const { projectId } = project;
    const batchId = await initByApi(story, project, [{ ...burnPipeline(1), type: TYPE, payload: '{"adId":"tab"}' }]);
    await waitForBatch(story.world, project, batchId, ({ status }) => status === 'FINALIZED');
    await page.addInitScript(`
      globalThis.streams = new Set();
      globalThis.EventSource = class extends EventSource {
        constructor(...given) { super(...given); streams.add(this); }
        close() { streams.delete(this); super.close(); }
      };
      globalThis.setVisibility = (visibilityState) => {
        Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
      };
    `);
    await page.goto(`/p/${projectId}/batches/${batchId}`);
    const streams = () => page.evaluate<number>('streams.size');
    await waitUntil('the stream of a tab in sight', streams, (count) => count === 1);
    await page.evaluate("setVisibility('hidden')");
    await waitUntil('the end of the stream', streams, (count) => count === 0);
    const { status, text } = await askApi(person, `/projects/${projectId}/batches/${batchId}/cancel`, {});
    assert.ok(status < 300, text);
    await page.evaluate("setVisibility('visible')");
    await page.getByText('Cancelled', { exact: true }).waitFor();
  });

  it('takes no dialog over from the batch that was on the screen before', async () => {
    const { page } = person;
    const title = page.getByRole('heading', { level: 1, name: /^Batch \d+$/ });
    const names: string[] = [];
    for (const adId of ['one', 'other']) {
      const pipeline = { ...burnPipeline(1), type: TYPE, payload: JSON.stringify({ adId }) };
      await page.goto(`/p/${project.projectId}/batches/${await initByApi(story, project, [pipeline])}`);
      names.push((await title.textContent()) ?? '');
    }
    const [first = '', second = ''] = names;
    // Without loading the page: what was shown before is shown at once.
    const open = async (name: string) => {
      await page.keyboard.press('Control+k');
      const palette = page.getByRole('dialog', { name: 'Command palette' });
      await palette.getByRole('combobox').fill(name);
      await palette.getByRole('option', { name: new RegExp(`^${name}\\D`), selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await title.and(page.getByText(name, { exact: true })).waitFor();
    };
    await open(first);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('dialog', { name: `Cancel ${first.toLowerCase()}?` }).waitFor();
    await open(second);
    assert.equal(await page.locator('dialog[open]').count(), 0);
  });

  it('is found in the palette by its number or id, among more than the newest fifty', async () => {
    const { page } = person;
    const path = `/projects/${project.projectId}/batches`;
    const [first]: readonly BatchRow[] = JSON.parse((await askApi(person, `${path}?batchIndex=1`)).text).batches;
    assert.ok(first, 'batch 1 is missing');
    await storeFailedBatches(story.world, first.id, 60);
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    const field = palette.getByRole('combobox');
    const open = async (from: string) => {
      await page.goto(from);
      await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
      await page.keyboard.press('Control+k');
      await field.waitFor();
    };
    const opensFirst = async () => {
      await palette.getByRole('option', { name: /^Batch 1( of \S+)?Executed/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/p/${project.projectId}/batches/${first.id}`);
    };
    for (const typed of ['#1', '1', 'Batch 1']) {
      await open(`/p/${project.projectId}/vault`);
      await page.keyboard.type(typed);
      await opensFirst();
    }
    await open('/');
    await field.fill('1');
    await palette.getByText('Open a project to find its batches by number.').waitFor();
    await field.fill(first.id);
    await opensFirst();

    await open(`/p/${project.projectId}/vault`);
    await field.fill('#987');
    await palette.getByText('This project has no batch 987.').waitFor();
    assert.equal(await palette.getByRole('option').count(), 0);
    await checkScreenOnBoth(person, 'palette-missing');
    await field.fill(randomUUID());
    await palette.getByText('None of your projects has a batch of this id.').waitFor();
  });

  it('can be searched again after the service failed', async () => {
    const { page } = person;
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    const search = /\/batches\?batchIndex=/;
    const broken = { error: 'ERR_INTERNAL', message: 'The service failed to read its database.' };
    await page.route(search, (route) => route.fulfill({ status: 500, json: broken }));
    await palette.getByRole('combobox').fill('#1');
    await palette.getByText(`The search failed. ${broken.message}`).waitFor();
    await checkScreenOnBoth(person, 'palette-failed');
    await page.unroute(search);
    await palette.getByRole('button', { name: 'Retry' }).click();
    await palette.getByRole('option', { name: /^Batch 1Executed/, selected: true }).waitFor();
  });
});

/** Reads how many bytes of its transaction the first pipeline takes, as the page shows. */
async function bytesOf({ page }: Person): Promise<number> {
  const text = await page
    .getByText(/^[\d,]+ of [\d,]+ bytes$/)
    .first()
    .textContent();
  return Number((text ?? '').split(' ')[0]?.replaceAll(',', ''));
}

/** A user would give up after so many. */
const MAX_TABS = 40;

/** Presses the keys of a sequence, once more if a busy machine has let the pause between them grow too long. */
async function pressSequence({ page }: Person, keys: string, url: string): Promise<void> {
  for (let isThere = false; !isThere; ) {
    for (const key of keys) await page.keyboard.press(key);
    isThere = await page.waitForURL(url, { timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  }
}

function focusedTag({ page }: Person): Promise<string> {
  return page.evaluate('document.activeElement.tagName');
}

/** Presses Tab until the element of that name has the focus; asserts that each focused element is visible as such. */
async function tabTo({ page }: Person, name: string): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    await page.keyboard.press('Tab');
    const focused: { readonly name: string; readonly isSeen: boolean } = await page.evaluate(`(() => {
      const { activeElement } = document;
      const { outlineStyle, boxShadow } = getComputedStyle(activeElement);
      return { name: activeElement.textContent.trim(), isSeen: outlineStyle !== 'none' || boxShadow !== 'none' };
    })()`);
    assert.ok(focused.isSeen, `nothing shows that “${focused.name}” is focused`);
    if (focused.name === name) return;
  }
  assert.fail(`“${name}” is more than ${MAX_TABS} tabs away.`);
}
