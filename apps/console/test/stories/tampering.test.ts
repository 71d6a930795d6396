import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { findMultisig } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { signSuccession } from '@flywheel/testing/successions';
import { signRotation } from '@flywheel/testing/treasury';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import {
  type Alteration,
  type AlteredOptions,
  addTheft,
  alterAccount,
  alterAnswers,
  assertNotSigned,
  changePins,
  OFFSETS,
  readPins,
  replaceAmount,
} from './alterations.ts';
import {
  approve,
  askApi,
  checkScreenOnBoth,
  countSignatures,
  fund,
  initByApi,
  openApproval,
  openRegistrationReview,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  tokenOf,
  trust,
  untilVerified,
} from './story.ts';

describe('a page that asks the wallet to sign', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let wallet: Address;
  let project: Registered;
  let batchId: string;
  let otherBatchId: string;
  let otherApproval: string;
  let recipient: Address;
  let stranger: Address;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await countSignatures(person);
    wallet = address(await signIn(person));
    project = await register(person);
    await fund(person, project);
    [recipient, stranger] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    otherBatchId = await initByApi(story, project, [burnPipeline(4)]);
    batchId = await initByApi(story, project, [burnPipeline(2), airdropPipeline(recipient, 3)]);
    await openApproval(person, project, otherBatchId);
    const { text } = await askApi(person, `/projects/${project.projectId}/batches/${otherBatchId}/approval`);
    otherApproval = text;
    // The approval is opened once unchanged, so that every mismatch below comes from an alteration below.
    await openApproval(person, project, batchId);
  });
  after(() => story.stop());

  /** Opens the approval while answers are altered, and asserts that the page does not sign it. */
  async function openAltered(alteration: Alteration, expected: RegExp, options: AlteredOptions = {}): Promise<void> {
    const { page } = person;
    const { of = batchId, name } = options;
    // Alterations that an earlier test left if it failed.
    await page.unrouteAll();
    const undo = await alterAnswers(page, alteration);
    await page.goto(`/p/${project.projectId}/approve/${of}`);
    await assertUnsignable(expected, of);
    if (name !== undefined) await checkScreenOnBoth(person, name);
    await undo();
  }

  const assertUnsignable = (expected: RegExp, of = batchId) => assertNotSigned(story, person, expected, of);
  const batchAnswer = (of = batchId) => new RegExp(`/batches/${of}$`);
  const approvalAnswer = () => `/batches/${batchId}/approval`;
  const chainAnswer = () => story.world.localnet.url;

  describe('is red and does not sign if the service changes', () => {
    it('an amount', () =>
      openAltered(
        { of: batchAnswer(), change: (text) => text.replace('"amount":2', '"amount":1') },
        /Pipeline 0\..*Shown: Token burns 1 token of .*On chain: Token burns 2 tokens of/,
        { name: 'tampered-amount' },
      ));

    it('a recipient', () =>
      openAltered(
        { of: batchAnswer(), change: (text) => text.replaceAll(recipient, stranger) },
        new RegExp(
          `Pipeline 1\\..*Shown: Associated Token creates the token account of ${stranger}.*On chain: .*${recipient}`,
        ),
      ));

    it('a payload', () =>
      openAltered(
        { of: batchAnswer(), change: (text) => text.replace('adId', 'adid') },
        /Pipeline 1\..*Shown: Memo writes “flywheel:v1:WATCH_AD:.*On chain: Memo writes “flywheel:v1:WATCH_AD:/,
      ));

    it('a pipeline that is not shown', () =>
      openAltered(
        {
          of: batchAnswer(),
          change: (text) => {
            const batch: { readonly pipelines: readonly unknown[] } = JSON.parse(text);
            return JSON.stringify({ ...batch, pipelines: batch.pipelines.slice(0, 1) });
          },
        },
        /The batch on chain has 2 transactions; 1 pipelines are shown/,
      ));

    it('the vault', () =>
      openAltered(
        {
          of: new RegExp(`/batches/${batchId}(/progress)?$`),
          change: (text) => text.replaceAll(project.vault, stranger),
        },
        new RegExp(`The vault shown is ${stranger}; the vault of the multisig is ${project.vault}`),
      ));

    it('an amount after the verification', async () => {
      const { page } = person;
      await page.clock.install();
      await openApproval(person, project, batchId);
      const undo = await alterAnswers(page, {
        of: batchAnswer(),
        change: (text) => text.replace('"amount":2', '"amount":1'),
      });
      // Returning to the page verifies it again.
      await page.clock.fastForward('00:10');
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      await assertUnsignable(/Pipeline 0\..*Shown: Token burns 1 token of .*On chain: Token burns 2 tokens of/);
      await undo();
    });

    it('the approval to another batch’s', () =>
      openAltered({ of: approvalAnswer(), change: () => otherApproval }, /approves another proposal/, {
        name: 'tampered-approval',
      }));

    it('the approval to one that also takes SOL from the wallet', () =>
      openAltered(
        {
          of: approvalAnswer(),
          change: (text) => {
            const { proposalApproveTx }: { readonly proposalApproveTx: string } = JSON.parse(text);
            return JSON.stringify({ proposalApproveTx: addTheft(proposalApproveTx, wallet, stranger) });
          },
        },
        /calls 11111111111111111111111111111111, which is not part of an approval/,
      ));
  });

  it('shows the instructions on chain, and none that only the service names', async () => {
    const { page } = person;
    const undo = await alterAnswers(page, {
      of: batchAnswer(),
      change: (text) => {
        const batch: { readonly pipelines: readonly { readonly instructions: readonly string[] }[] } = JSON.parse(text);
        const instructions = batch.pipelines.at(-1)?.instructions;
        return JSON.stringify({ ...batch, pipelines: batch.pipelines.map((each) => ({ ...each, instructions })) });
      },
    });
    await openApproval(person, project, batchId);
    await page.getByRole('button', { name: /^Pipeline 0/ }).click();
    const card = page.getByRole('article').first();
    await card.getByText('burns 2 tokens').waitFor();
    assert.equal(await card.getByText('transfers').count(), 0);
    await undo();
  });

  describe('is red and does not sign if the RPC node changes', () => {
    it('an amount', async () => {
      const { decimals } = await tokenOf(story, project);
      const units = (tokens: bigint) => tokens * 10n ** BigInt(decimals);
      const change = alterAccount('VaultBatchTransaction', (bytes) => replaceAmount(bytes, units(2n), units(900n)));
      await openAltered(
        { of: chainAnswer(), change },
        /Shown: Token burns 2 tokens of .*On chain: Token burns 900 tokens of/,
      );
    });

    it('the vault', () => {
      const change = alterAccount('Batch', (bytes) => bytes.writeUInt8(1, OFFSETS.vaultIndex));
      return openAltered({ of: chainAnswer(), change }, /The batch spends from vault 1, not from vault 0/);
    });

    it('a proposal to one that still accepts messages', () => {
      const change = alterAccount('Proposal', (bytes) => bytes.writeUInt8(0, OFFSETS.status));
      return openAltered({ of: chainAnswer(), change }, /The proposal on chain is Draft, not Active/);
    });

    it('a multisig to one that needs a single vote', () => {
      const change = alterAccount('Multisig', (bytes) => bytes.writeUInt16LE(1, OFFSETS.threshold));
      return openAltered({ of: chainAnswer(), change }, /The multisig needs 1 votes, not 2/);
    });

    it('a multisig to one with a config authority', () => {
      const change = alterAccount('Multisig', (bytes) => bytes.fill(7, OFFSETS.configAuthority, OFFSETS.threshold));
      return openAltered({ of: chainAnswer(), change }, /alone can change the multisig/);
    });

    it('existing accounts to missing ones', () => {
      const change = (text: string) =>
        text.replace(/"value":\[.*\]/s, (found) => found.replaceAll(/\{[^{}]*\}/g, 'null'));
      return openAltered({ of: chainAnswer(), change }, /does not exist on this cluster/);
    });

    it('an answer to an invalid one', () =>
      openAltered({ of: chainAnswer(), change: () => '<h1>Bad gateway</h1>', status: 400 }, /answered HTTP 400/));
  });

  describe('is red and does not sign if the database changes', () => {
    it('a batch after its setup on chain', async () => {
      const { page } = person;
      const stored = await story.world.db
        .selectFrom('pipelines')
        .select('actions')
        .where('batch_id', '=', batchId)
        .where('position', '=', 1)
        .executeTakeFirstOrThrow();
      const write = (actions: string) =>
        story.world.db
          .updateTable('pipelines')
          .set({ actions })
          .where('batch_id', '=', batchId)
          .where('position', '=', 1)
          .execute();
      const honest = JSON.stringify(stored.actions);
      await write(honest.replaceAll(recipient, stranger));
      await page.goto(`/p/${project.projectId}/approve/${batchId}`);
      await assertUnsignable(new RegExp(`creates the token account of ${stranger}.*On chain: .*${recipient}`));
      await write(honest);
    });
  });

  it('is red for a vault that this browser does not know, until the person enters its address', async () => {
    await changePins(person.page, ({ multisigs, services }) => ({
      services,
      multisigs: multisigs.map((pin) => ({ ...pin, multisig: stranger, vaultAddress: stranger })),
    }));
    await person.page.goto(`/p/${project.projectId}/vault`);
    await person.page.getByRole('alert').filter({ hasText: 'Do not deposit' }).waitFor();
    assert.equal(await person.page.getByTestId('vault-address').count(), 0);
    // An empty vault, so that the first steps have the deposit.
    const undo = await alterAnswers(person.page, {
      of: new RegExp(`/projects/${project.projectId}$`),
      change: (text) => JSON.stringify({ ...JSON.parse(text), funds: null }),
    });
    await person.page.goto(`/p/${project.projectId}`);
    const deposit = person.page.getByRole('listitem').filter({ hasText: 'Vault funded' });
    await deposit.getByRole('alert').filter({ hasText: 'Do not deposit' }).waitFor();
    assert.doesNotMatch((await deposit.textContent()) ?? '', /flywheel localnet fund|Local cluster: deposit/);
    await undo();
    await person.page.goto(`/p/${project.projectId}/approve/${batchId}`);
    await assertUnsignable(new RegExp(`browser knows the vault ${stranger}; shown is the vault ${project.vault}`));
    await checkScreenOnBoth(person, 'unknown-vault');
    await trust(person, 'vault', project.vault);
    await untilVerified(person);
  });

  it('verifies again after the change is undone: the same batch is signed and executed', async () => {
    await person.page.unrouteAll();
    await person.page.evaluate("localStorage.removeItem('flywheel.pins')");
    const changed = alterAccount('Multisig', (bytes) => bytes.writeBigUInt64LE(1n, OFFSETS.staleTransactionIndex));
    const undo = await alterAnswers(person.page, { of: chainAnswer(), change: changed });
    await openApproval(person, project, batchId);
    const firstUse = person.page.getByRole('status').filter({ hasText: 'First use of this multisig in this browser' });
    await firstUse.filter({ hasText: 'have changed before' }).waitFor();
    await undo();
    await openApproval(person, project, batchId);
    await firstUse.waitFor();
    assert.doesNotMatch((await firstUse.textContent()) ?? '', /have changed before/);
    const { mint } = await tokenOf(story, project);
    assert.match((await firstUse.textContent()) ?? '', new RegExp(`the token is ${mint}`));
    assert.equal(
      await person.page.getByRole('button', { name: `Copy mint ${mint}` }).count(),
      2,
      'not in What you sign',
    );
    await approve(person);
    await person.page.getByText('2 of 2 pipelines executed.').waitFor();
    assert.equal(await person.page.evaluate('globalThis.signaturesMade'), 1);
    assert.equal((await readPins(person.page)).multisigs[0]?.vaultAddress, project.vault);
  });

  it('is red for a company that this browser does not know, until the person enters its address', async () => {
    const { page } = person;
    const { company, operator } = await findMultisig(story.world, project);
    await changePins(page, ({ multisigs, services }) => ({
      multisigs,
      services: services.concat(multisigs.map((pin) => ({ ...pin, companies: [stranger], operators: [operator] }))),
    }));
    await openRegistrationReview(page);
    const expected = `${company} would vote for the company, not ${stranger}. ${stranger} has named no successor.`;
    await page.getByRole('alert').filter({ hasText: expected }).waitFor();
    await checkScreenOnBoth(person, 'unknown-company');
    assert.equal(await page.getByRole('button', { name: 'Sign and create the project' }).isDisabled(), true);
    await trust(person, 'company', company);
    await page.getByText('One-time cost, paid by your wallet').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Sign and create the project' }).isEnabled(), true);
  });

  it('says which new key the known one of the company has signed, and lets the wallet register', async () => {
    const { page } = person;
    const { company } = await findMultisig(story.world, project);
    const [earlier, genesisHash] = [await generateKeyPairSigner(), await story.world.rpc.getGenesisHash().send()];
    const { signature } = await signSuccession(earlier, { role: 'company', to: company, genesisHash });
    const keys = { from_key: earlier.address, to_key: company, genesis_hash: genesisHash };
    await story.world.db
      .insertInto('key_successions')
      .values({ role: 'company', ...keys, signature, signed_at: new Date() })
      .execute();
    await changePins(page, ({ services, ...pins }) => ({
      ...pins,
      services: services.map((service) => ({ ...service, companies: [earlier.address] })),
    }));
    await openRegistrationReview(page);
    const news = page.getByRole('status').filter({ hasText: 'The company has a new key' });
    await news.waitFor();
    assert.match(
      (await news.textContent()) ?? '',
      new RegExp(`${earlier.address} has signed that ${company} succeeds it\\.$`),
    );
    await checkScreenOnBoth(person, 'new-company-key');
    assert.equal(await page.getByRole('button', { name: 'Sign and create the project' }).isEnabled(), true);
  });

  it('is red and does not sign a changed withdrawal or rotation', async () => {
    const post = (path: string, body: unknown) => change(`/projects/${project.projectId}${path}`, body);
    await post(`/batches/${otherBatchId}/cancel`, {});
    const withdrawal = await post('/withdrawals', { asset: 'SOL', amount: '0.25', to: recipient });
    await openApproval(person, project, withdrawal.batchId);
    const withdrawalAnswer = batchAnswer(withdrawal.batchId);
    await openAltered(
      { of: withdrawalAnswer, change: (text) => text.replaceAll('"0.25"', '"0.1"') },
      /Shown: System transfers 0\.1 SOL to .*On chain: System transfers 0\.25 SOL to/,
      { of: withdrawal.batchId, name: 'tampered-withdrawal' },
    );
    await openAltered(
      { of: withdrawalAnswer, change: (text) => text.replaceAll(recipient, stranger) },
      new RegExp(
        `Shown: System transfers 0\\.25 SOL to ${stranger}.*On chain: System transfers 0\\.25 SOL to ${recipient}`,
      ),
      { of: withdrawal.batchId },
    );
    await post(`/batches/${withdrawal.batchId}/cancel`, {});

    const next = await generateKeyPairSigner();
    const rotation = await post('/rotations', {
      newWallet: next.address,
      signature: await signRotation(story.world, project, next),
    });
    await openApproval(person, project, rotation.batchId);
    await openAltered(
      { of: batchAnswer(rotation.batchId), change: (text) => text.replaceAll(next.address, stranger) },
      new RegExp(`Shown: ${stranger} \\(vote\\) is added.*On chain: ${next.address} \\(vote\\) is added`),
      { of: rotation.batchId, name: 'tampered-rotation' },
    );
  });

  async function change(path: string, body: unknown): Promise<{ readonly batchId: string }> {
    const { status, text } = await askApi(person, path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }
});
