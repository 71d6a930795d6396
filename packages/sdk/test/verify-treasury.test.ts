import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type VerificationInput, verifyApproval } from '@flywheel/sdk';
import { send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import {
  readWithdrawal,
  rotateOperator,
  rotateWallet,
  setUpWithdrawal,
  waitForWithdrawal,
} from '@flywheel/testing/treasury';
import { createSignerFile, openConsoleWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

describe('verifyApproval of withdrawals and rotations', () => {
  let world: World;
  let companyCookie: string;
  before(async () => {
    ({ world, companyCookie } = await openConsoleWorld());
  });
  after(() => world.stop());

  /** Builds the input that the console passes. */
  async function inputOf(project: TestProject, batchId: string): Promise<VerificationInput> {
    const { batch, pipelines } = await readWithdrawal(world, project, batchId);
    const path = `/console/api/projects/${project.projectId}/batches/${batchId}/approval`;
    const { proposalApproveTx } = requireOk(
      await send(world.url, 'GET', path, { headers: { cookie: project.cookie } }),
    );
    return { wallet: project.wallet.address, batch: { ...batch, pipelines }, proposalApproveTx };
  }

  /** Copies the input with changes in the action of its only pipeline. */
  function altered(
    { batch, ...input }: VerificationInput,
    changes: Readonly<Record<string, string>>,
  ): VerificationInput {
    const pipelines = batch.pipelines.map((pipeline) => ({
      ...pipeline,
      actions: pipeline.actions.map((action) => ({ ...action, ...changes })),
    }));
    return { ...input, batch: { ...batch, pipelines } };
  }

  const textOf = async (input: VerificationInput) => {
    const { mismatches, issues, isVerified } = await verifyApproval(world.localnet.url, input);
    assert.equal(isVerified, mismatches.length + issues.length === 0);
    return [...issues, ...mismatches.map(({ text }) => text)].join(' ');
  };

  it('verifies an honest withdrawal, and names every value that differs from the chain', async () => {
    const project = await createProject(world);
    const [to, stranger] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    for (const asset of ['SOL', 'TOKEN'] as const) {
      const input = await inputOf(project, await setUpWithdrawal(world, project, { asset, to, amount: '12.5' }));
      assert.equal(await textOf(input), '');
      assert.match(await textOf(altered(input, { toAddress: stranger })), /Shown: .*On chain: /);
      assert.match(
        await textOf(altered(input, { amount: '1.25' })),
        /Shown: \S+ transfers 1\.25 .*On chain: \S+ transfers 12\.5 /,
      );
      assert.match(await textOf(altered(input, { asset: asset === 'SOL' ? 'TOKEN' : 'SOL' })), /Shown: .*On chain: /);
    }
  });

  it('verifies an honest rotation, and names who else would get the vote', async () => {
    const project = await createProject(world);
    const [to, stranger] = [await generateKeyPairSigner(), (await generateKeyPairSigner()).address];
    const { batchId } = requireOk(await rotateWallet(world, project, to));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    const input = await inputOf(project, batchId);
    assert.equal(await textOf(input), '');
    assert.match(
      await textOf(altered(input, { to: stranger })),
      new RegExp(`Shown: ${stranger} \\(vote\\) is added.*On chain: ${to.address} \\(vote\\) is added`),
    );
    assert.match(await textOf(altered(input, { from: stranger })), /Shown: .*On chain: /);
    // The chain matches; only the side whose vote changes is shown wrong.
    assert.match(
      await textOf(altered(input, { approver: 'company' })),
      /a change of the company, .* removes your own wallet/,
    );
    const asBurn = { action: 'MEMO', message: 'thank you' };
    await assert.rejects(textOf(altered(input, asBurn)), /is not a Squads Batch/);
  });

  it('verifies an honest rotation of the operator, who gets no vote, and names what it is not', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-operator-'));
    t.after(() => rm(directory, { recursive: true }));
    const path = join(directory, 'operator.json');
    const to = await createSignerFile(path);
    await world.localnet.bank.airdrop(to, 1_000_000_000n);
    const project = await createProject(world);
    await world.restart({ OPERATOR_SIGNER: path, OPERATOR_SIGNER_PREVIOUS: world.environment.OPERATOR_SIGNER ?? '' });
    const { batchId, from } = requireOk(await rotateOperator(world, project, companyCookie));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    const input = await inputOf(project, batchId);
    assert.equal(await textOf(input), '');
    assert.match(
      await textOf(altered(input, { approver: 'company' })),
      new RegExp(`Shown: ${to} \\(vote\\) is added.*On chain: ${to} \\(initiate, execute\\) is added`),
    );
    const stranger = (await generateKeyPairSigner()).address;
    assert.match(
      await textOf(altered(input, { to: stranger })),
      new RegExp(`${stranger} collects the rent, then ${from} is removed\\. On chain: .*${to} collects the rent`),
    );
  });

  it('rejects a batch that is shown as a rotation', async () => {
    const project = await createProject(world);
    const to = project.wallet.address;
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
    const input = await inputOf(project, batchId);
    await assert.rejects(
      textOf(altered(input, { action: 'ROTATE', approver: 'wallet', from: to })),
      /is not a Squads ConfigTransaction/,
    );
  });
});
