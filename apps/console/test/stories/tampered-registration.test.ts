import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ProjectSummary } from '@flywheel/api';
import { noBrowser } from '@flywheel/testing/browser';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { addTheft, alterAnswers, changePins, loseAnswers, readPins } from './alterations.ts';
import {
  askApi,
  checkScreenOnBoth,
  countSignatures,
  openRegistrationReview,
  openStory,
  type Person,
  type Story,
  signIn,
} from './story.ts';

describe('a page that registers a project does not if the service changes', { skip: noBrowser }, () => {
  let story: Story;
  let visitor: Person;
  let visitorWallet: Address;
  let stranger: Address;
  before(async () => {
    story = await openStory();
    visitor = await story.visit();
    stranger = (await generateKeyPairSigner()).address;
    await countSignatures(visitor);
    visitorWallet = address(await signIn(visitor));
  });
  after(() => story.stop());

  it('the transaction to one that also takes SOL from the wallet', async () => {
    const { page } = visitor;
    const undo = await alterAnswers(page, {
      of: /\/registrations$/,
      change: (text) => {
        const registration: { readonly transaction: string } = JSON.parse(text);
        const transaction = addTheft(registration.transaction, visitorWallet, stranger);
        return JSON.stringify({ ...registration, transaction });
      },
    });
    await openRegistrationReview(page);
    const alert = page.getByRole('alert').filter({
      hasText: new RegExp(`Instruction 5 is not part of a registration: System transfers .* SOL to ${stranger}`),
    });
    await alert.waitFor();
    await checkScreenOnBoth(visitor, 'tampered-registration');
    const button = page.getByRole('button', { name: 'Sign and create the project' });
    assert.equal(await button.isDisabled(), true, 'the button can be pressed');
    await button.dispatchEvent('click');
    assert.equal(await page.evaluate('globalThis.signaturesMade'), 0, 'the wallet has signed');
    await undo();
  });

  it('the transaction after it was shown', async () => {
    const { page } = visitor;
    await openRegistrationReview(page);
    await page.getByText('One-time cost, paid by your wallet').waitFor();
    const undo = await alterAnswers(page, {
      of: /\/registrations$/,
      change: (text) => JSON.stringify({ ...JSON.parse(text), multisig: stranger }),
    });
    await page.getByRole('button', { name: 'Sign and create the project' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /^Not signed: The service shows the multisig / })
      .waitFor();
    assert.equal(await page.evaluate('globalThis.signaturesMade'), 0, 'the wallet has signed');
    await undo();
  });

  it('the vault in its answer', async () => {
    const { page } = visitor;
    await openRegistrationReview(page);
    await page.getByText('One-time cost, paid by your wallet').waitFor();
    const undo = await alterAnswers(page, {
      of: /\/confirm$/,
      change: (text) => JSON.stringify({ ...JSON.parse(text), vaultAddress: stranger }),
    });
    await page.getByRole('button', { name: 'Sign and create the project' }).click();
    const alert = page.getByRole('alert').filter({ hasText: /deposit nothing into .*The service shows the vault / });
    await alert.waitFor();
    assert.equal(await page.getByText('Project created').count(), 0);
    assert.equal(await page.getByTestId('vault-address').count(), 0, 'there is an address to deposit to');
    // Only this answer has the key, also of a project that is good and that the node does not know yet.
    assert.match((await page.getByTestId('secret').textContent()) ?? '', /^fwk_/);
    await checkScreenOnBoth(visitor, 'registered-elsewhere');
    await undo();
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('link', { name: 'Flywheel' }).first().click();
    await page.getByRole('heading', { name: 'Your projects' }).waitFor();
  });

  it('nothing, but its answer to the signature is lost: the page says where to look, and signs no second time', async () => {
    const { page } = visitor;
    await openRegistrationReview(page);
    await page.getByText('One-time cost, paid by your wallet').waitFor();
    const undo = await loseAnswers(page, /\/confirm$/);
    const button = page.getByRole('button', { name: 'Sign and create the project' });
    await button.click();
    const notice = page.getByRole('status').filter({ hasText: 'Look in Your projects before you sign again' });
    await notice.waitFor();
    await undo();
    assert.equal(await button.isDisabled(), true, 'the button can be pressed');
    await checkScreenOnBoth(visitor, 'registered-without-answer');
    await notice.getByRole('link', { name: 'Your projects' }).click();
    await page.getByRole('heading', { name: 'Your projects' }).waitFor();
    await page.getByRole('main').getByRole('list').getByRole('link').first().waitFor();
    // A signed registration is compared before a vault is shown for a deposit, also after the answer was lost.
    const { text } = await askApi(visitor, '/projects');
    const { projects }: { readonly projects: readonly ProjectSummary[] } = JSON.parse(text);
    const { multisigs } = await readPins(page);
    const signed = multisigs.find((pin) => pin.signed !== undefined);
    const project = projects.find(({ vaultAddress }) => vaultAddress === signed?.vaultAddress);
    assert.ok(signed && project, 'the signed registration was not kept');
    const path = `/p/${project.id}/vault`;
    const showOther = await alterAnswers(page, {
      of: new RegExp(`/projects/${project.id}$`),
      change: (answer) => answer.replaceAll(project.vaultAddress, stranger),
    });
    await page.goto(path);
    await page.getByRole('alert').filter({ hasText: 'Do not deposit' }).waitFor();
    await showOther();
    await changePins(page, (pins) =>
      JSON.parse(JSON.stringify(pins).replaceAll(story.world.operator.address, stranger)),
    );
    await page.goto(path);
    await page.getByRole('alert').filter({ hasText: 'deposit nothing into' }).waitFor();
    assert.equal(await page.getByTestId('vault-address').count(), 0, 'there is an address to deposit to');
    await changePins(page, (pins) =>
      JSON.parse(JSON.stringify(pins).replaceAll(stranger, story.world.operator.address)),
    );
    await page.goto(path);
    await page.getByTestId('vault-address').waitFor();
    assert.ok((await readPins(page)).multisigs.every((pin) => pin.multisig !== signed.multisig || !pin.signed));
    await page.evaluate("localStorage.removeItem('flywheel.pins')");
    await page.goto(path);
    await page.getByRole('status').filter({ hasText: 'First use of this vault in this browser' }).waitFor();
    await checkScreenOnBoth(visitor, 'first-use-of-vault');
  });
});
