import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { noBrowser } from '@flywheel/testing/browser';
import { airdropPipeline, heavyBurnPipeline } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends, openGatedWorld } from '@flywheel/testing/gate';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createOwnMint, freeze, mintTo } from '@flywheel/testing/mints';
import { address, generateKeyPairSigner } from '@solana/kit';
import { holdSignatures } from './alterations.ts';
import {
  approve,
  checkScreenOnBoth,
  initByApi,
  openApproval,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  tellStory,
} from './story.ts';

/** More pipelines than are sent at first. */
const PIPELINES = 20;
/** Position of the pipeline whose recipient's account is frozen while the batch runs. */
const FAILING = 18;

/** More than two bundles hold: the bundle in flight when the batch is cancelled is not the last. */
const MANY_PIPELINES = 36;
/** The bundle in flight is held for longer than the service waits. */
const CANCEL_WAIT_S = 2;

describe('a batch that ends early after its approval, in a browser', { skip: noBrowser }, () => {
  const [, engine] = ENGINES;
  let world: GatedWorld;
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    world = await openGatedWorld(engine.environment);
    story = tellStory(world);
    person = await story.visit({ colorScheme: 'dark' });
  });
  afterEach(() => world.gate.clear());
  after(() => story.stop());

  it('says what was done of what was requested, shows the failed pipeline, and takes the wallet’s cancel vote', async () => {
    const { page } = person;
    await signIn(person);
    const mint = await createOwnMint(world, false);
    const frozenBy = { mint: mint.address, freezeAuthority: mint.authority.address };
    project = await register(person, { frozenBy });
    await mintTo(world, mint, address(project.vault), 10n ** 9n);
    const recipient = (await generateKeyPairSigner()).address;
    const tokenAccount = await mintTo(world, mint, recipient, 1n);
    const pipelines = Array.from({ length: PIPELINES }, (_, i) =>
      i === FAILING ? airdropPipeline(recipient, 1) : heavyBurnPipeline(),
    );
    const batchId = await initByApi(story, project, pipelines);
    await openApproval(person, project, batchId);
    const hold = holdSends(world, engine, project, 1n);
    await approve(person);
    await hold.reached;
    await freeze(world, mint, tokenAccount);
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    await page.getByText(/^\d+ tokens? of it done$/).waitFor();
    await checkScreenOnBoth(person, 'batch-executing');
    hold.release();
    await page.getByText(`${FAILING} of ${PIPELINES} pipelines executed`).waitFor();
    await page.getByText('of 19 tokens requested').waitFor();
    await page.getByText('of 1 token requested').waitFor();
    const title = `Pipeline ${FAILING} failed on chain: a token account that it needs is frozen.`;
    const alert = page.getByRole('alert').filter({ hasText: title });
    await alert.getByText(/^\{"InstructionError":\[\d+,\{"Custom":17\}\]\}$/).waitFor();
    assert.equal(await page.getByText('"InstructionError"').count(), 1, 'the raw error stands in two places');
    await page.getByLabel('Show').selectOption({ label: 'Failed (1)' });
    await page.getByRole('button', { name: `Pipeline ${FAILING} WATCH_AD` }).waitFor();
    assert.equal(await page.getByRole('article').count(), 1);
    await checkScreenOnBoth(person, 'batch-failed');
    await page.getByLabel('Search pipelines').fill('nothing of the kind');
    await page.getByText(`None of ${PIPELINES} pipelines matches.`).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByLabel('Search pipelines').fill(recipient.slice(0, 12));
    await page.getByRole('button', { name: `Pipeline ${FAILING} WATCH_AD` }).waitFor();

    await stopWaitingForVote(person);
    await voteToCancel(person);
  });

  it('is cancelled by its owner while it executes, and then takes the cancel vote too', async () => {
    const { page } = person;
    await page.route('**/cancel', (route) => {
      const headers = { ...route.request().headers(), prefer: `wait=${CANCEL_WAIT_S}` };
      return route.continue({ headers });
    });
    const pipelines = Array.from({ length: MANY_PIPELINES }, () => heavyBurnPipeline());
    const batchId = await initByApi(story, project, pipelines);
    await openApproval(person, project, batchId);
    const hold = holdSends(world, engine, project, 2n);
    await approve(person);
    await hold.reached;
    await page.goto(`/p/${project.projectId}/batches/${batchId}`);
    await page.getByText(/^\d+ tokens? of it done$/).waitFor();
    const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
    await cancel.click();
    const dialog = page.getByRole('dialog', { name: 'Cancel batch 2?' });
    await dialog.getByRole('button', { name: 'Keep the batch' }).click();
    await dialog.waitFor({ state: 'detached' });
    await cancel.click();
    await dialog.getByText('your wallet is asked for a cancel vote afterwards').waitFor();
    await dialog.getByLabel('Type “Batch 2” to confirm').fill('Batch 2');
    await checkScreenOnBoth(person, 'batch-cancel');
    await dialog.getByRole('button', { name: 'Cancel the batch' }).click();
    const isAsked = () => countOpenJobs(world, 'cancel', batchId);
    await waitUntil('the cancellation', isAsked, (count) => count > 0);
    await dialog.getByText('If a bundle is in flight, this takes up to 20 seconds').waitFor();
    await dialog.waitFor({ state: 'detached' });
    const underWay = page.getByRole('status').filter({ hasText: 'Cancellation under way' });
    await underWay.waitFor();
    assert.equal(await cancel.count(), 0);
    await page.locator('main h1:focus').filter({ hasText: 'Batch 2' }).waitFor();
    await checkScreenOnBoth(person, 'batch-cancelling');
    hold.release();
    await underWay.waitFor({ state: 'detached' });
    const result = await page.getByText(`of ${MANY_PIPELINES} pipelines executed`).textContent();
    const executed = Number.parseInt(result ?? '', 10);
    assert.ok(executed > 0 && executed < MANY_PIPELINES, result ?? '');
    await page.getByText(`of ${MANY_PIPELINES} tokens requested`).waitFor();
    await page.getByText('Cancelled', { exact: true }).waitFor();
    await page.getByText(/The pipelines that were not executed will not run\./).waitFor();
    await checkScreenOnBoth(person, 'batch-cancelled');
    await voteToCancel(person);
  });
});

/** Signs the wallet's cancel vote, which the page offers, and waits until the rent is back. */
async function voteToCancel({ page }: Person): Promise<void> {
  await page.getByText('Rent stays locked until your wallet votes to cancel').waitFor();
  await page.getByText('Rent waits for the cancel vote').waitFor();
  await page.getByText(/^Batch \d was approved on chain before it ended/).waitFor();
  await page.getByRole('button', { name: 'Sign the cancel vote' }).click();
  await page.getByText('Cancel vote cast').waitFor();
  await page.getByText('All rent returned').waitFor();
  await page.getByText('Rent stays locked until your wallet votes to cancel').waitFor({ state: 'detached' });
}

/** Asks the wallet for the cancel vote, and stops waiting before it answers. */
async function stopWaitingForVote({ page }: Person): Promise<void> {
  const wallet = await holdSignatures(page);
  await page.getByRole('button', { name: 'Sign the cancel vote' }).click();
  await wallet.reached;
  await page.getByRole('button', { name: 'Stop waiting' }).click();
  await page.getByRole('alert').filter({ hasText: 'You stopped waiting for the wallet' }).waitFor();
  wallet.release();
}
