import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { proofHash, writeMergedPayload } from '@flywheel/protocol';
import { noBrowser } from '@flywheel/testing/browser';
import { burnPipeline } from '@flywheel/testing/client';
import { alterAnswers } from './alterations.ts';
import {
  approve,
  askApi,
  checkScreen,
  fund,
  initByApi,
  openApproval,
  openStory,
  register,
  type Story,
  signIn,
} from './story.ts';

const USAGE_ERROR = { error: 'ERR_INVALID_REQUEST', message: 'The usage cannot be read.' };

describe('proofs in a browser', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  it('show everyone with the link a proof and the vault, to the byte', async () => {
    const owner = await story.visit();
    await signIn(owner);
    const project = await register(owner);
    await fund(owner, project);
    const payload = '{"adId":  "ä 1"}\n';
    const together = ['{"adId":"2"}', '{"adId":"3"}'] as const;
    const mergedPayload = writeMergedPayload('WATCH_AD', together);
    const batchId = await initByApi(story, project, [
      { ...burnPipeline(2), type: 'WATCH_AD', payload },
      { ...burnPipeline(0.5), type: 'WATCH_AD', payload: mergedPayload },
    ]);
    await openApproval(owner, project, batchId);
    await approve(owner);
    await owner.page.getByText('2 of 2 pipelines executed.').waitFor();

    // The project is younger than a day: 2.5 of 1,000 tokens is its pace of one.
    const usage = /\/usage\?/;
    await owner.page.route(usage, (route) => route.fulfill({ status: 400, json: USAGE_ERROR }));
    await owner.page.goto(`/p/${project.projectId}/vault`);
    const failed = owner.page.getByRole('alert').filter({ hasText: USAGE_ERROR.message });
    await failed.waitFor();
    assert.equal(await owner.page.getByText('No burns or airdrops').count(), 0);
    await owner.page.unroute(usage);
    await failed.getByRole('button', { name: 'Retry' }).click();
    await owner.page.getByText('At the pace of the last day, the tokens last 399 days.').waitFor();

    const stranger = await story.visit({ size: 'phone', colorScheme: 'dark' });
    const { page } = stranger;
    await page.goto(`/proof?${new URLSearchParams({ type: 'WATCH_AD', payload })}`);
    await page.getByText('Computed by this page too: it matches').waitFor();
    await page.getByRole('heading', { name: 'Proven' }).waitFor();
    await page.getByText('Memo found, signed by the vault').waitFor();
    await page.getByText('On chain', { exact: true }).waitFor();
    await page.getByText('Signed by the vault', { exact: true }).waitFor();
    await checkScreen(stranger, 'proof-proven');

    // The service’s word alone is no proof: the chain that this page reads decides.
    const node = story.world.localnet.url;
    const failTransaction = (text: string) =>
      text.replaceAll('"err":null', '"err":{"InstructionError":[0,"InvalidArgument"]}');
    const undo = await alterAnswers(page, { of: node, change: failTransaction });
    await page.reload();
    await page.getByRole('heading', { name: 'Do not rely on this answer' }).waitFor();
    await page.getByText('Memo not found in this transaction').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Proven' }).count(), 0);
    await page.getByText('Not in this transaction', { exact: true }).waitFor();
    assert.equal(await page.getByText(/^(On chain|Signed by the vault)$/).count(), 0, 'the evidence says the contrary');
    await checkScreen(stranger, 'proof-refuted');
    await undo();
    const forget = await alterAnswers(page, { of: node, change: forgetTransaction });
    await page.reload();
    await page.getByRole('heading', { name: 'Not confirmed by this page' }).waitFor();
    await page.getByText('does not know this transaction').waitFor();
    await page.getByText('The service says: on chain', { exact: true }).waitFor();
    assert.equal(await page.getByText(/^(On chain|Signed by the vault)$/).count(), 0, 'the evidence says more');
    await checkScreen(stranger, 'proof-unconfirmed');
    await forget();

    await page.goto(`/proof?${new URLSearchParams({ type: 'WATCH_AD', payload: payload.trim() })}`);
    await page.getByRole('heading', { name: 'No proof found' }).waitFor();
    await checkScreen(stranger, 'proof-nothing');

    // A memo that is on chain proves the event that it is of, and no other.
    const real = JSON.parse((await askApi(stranger, '/proof', { type: 'WATCH_AD', payload })).text);
    const hash = proofHash({ type: 'WATCH_AD', payload: payload.trim() });
    const forged = { ...real, hash, pipelines: [{ ...real.pipelines[0], hash }] };
    const tell = await alterAnswers(page, { of: '/console/api/proof', change: () => JSON.stringify(forged) });
    await page.reload();
    await page.getByRole('heading', { name: 'Do not rely on this answer' }).waitFor();
    await page.getByText('Memo not found in this transaction').waitFor();
    await tell();

    // The link of an event that was paid together with another has the list of both.
    await page.getByLabel(/^Payload/).fill(together[0]);
    await page.getByText('Paid together with other events').click();
    const merged = page.getByLabel('Merged payload, as the project publishes it');
    await merged.fill(mergedPayload.replace(',', ', '));
    await page.getByText(/^This is not a merged payload/).waitFor();
    await merged.fill(`${mergedPayload}\n`);
    await page.getByRole('button', { name: 'Check the proof' }).click();
    await page.getByRole('heading', { name: 'Proven' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Your event, one of 2 that were paid together' }).waitFor();
    await page.getByText(proofHash({ type: 'WATCH_AD', payload: together[0] }), { exact: true }).waitFor();
    await page.getByText('Memo found, signed by the vault').waitFor();
    await checkScreen(stranger, 'proof-merged');
    await page.getByLabel(/^Payload/).fill('{"adId":"4"}');
    await page.getByRole('button', { name: 'Check the proof' }).click();
    await page.getByText(/^The merged payload does not list this event/).waitFor();

    await page.goto(`/vault/${project.vault}`);
    await page.getByText('997.5').first().waitFor();
    await page.getByText('−2.5').waitFor();
    await page.getByText('+1,000').waitFor();
    await checkScreen(stranger, 'vault-public');
  });
});

/** Makes a node’s answer the one about a transaction that it does not have. */
function forgetTransaction(text: string): string {
  const { result, ...answer } = JSON.parse(text);
  return JSON.stringify({ ...answer, result: result?.transaction === undefined ? result : null });
}
