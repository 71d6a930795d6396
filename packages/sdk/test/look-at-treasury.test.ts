import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type LookInput, lookBeforeSign } from '@flywheel/sdk';
import { send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { readWithdrawal, rotateWallet, setUpWithdrawal, waitForWithdrawal } from '@flywheel/testing/treasury';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

describe('the look before signing what leaves the vault, or who decides over it', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  /** As the console has it. */
  async function inputOf(project: TestProject, batchId: string): Promise<LookInput> {
    const { batch, pipelines } = await readWithdrawal(world, project, batchId);
    const path = `/console/api/projects/${project.projectId}/batches/${batchId}/approval`;
    const { proposalApproveTx } = requireOk(
      await send(world.url, 'GET', path, { headers: { cookie: project.cookie } }),
    );
    return { wallet: project.wallet.address, batch: { ...batch, pipelines }, proposalApproveTx };
  }

  /** The same with other words in its only pipeline’s action. */
  function altered({ batch, ...input }: LookInput, changes: Readonly<Record<string, string>>): LookInput {
    const pipelines = batch.pipelines.map((pipeline) => ({
      ...pipeline,
      actions: pipeline.actions.map((action) => ({ ...action, ...changes })),
    }));
    return { ...input, batch: { ...batch, pipelines } };
  }

  const textOf = async (input: LookInput) => {
    const { differences, approvalFaults, isSafe } = await lookBeforeSign(world.localnet.url, input);
    assert.equal(isSafe, differences.length + approvalFaults.length === 0);
    return [...approvalFaults, ...differences.map(({ text }) => text)].join(' ');
  };

  it('finds nothing against an honest withdrawal, and every word of one that differs from the chain', async () => {
    const project = await createProject(world);
    const [to, stranger] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    for (const asset of ['SOL', 'TOKEN'] as const) {
      const input = await inputOf(project, await setUpWithdrawal(world, project, { asset, to, amount: '12.5' }));
      assert.equal(await textOf(input), '');
      assert.match(await textOf(altered(input, { toAddress: stranger })), /Shown: .*On chain: /);
      assert.match(
        await textOf(altered(input, { amount: '1.25' })),
        /Shown: transfer 1\.25 .*On chain: transfer 12\.5 /,
      );
      assert.match(await textOf(altered(input, { asset: asset === 'SOL' ? 'TOKEN' : 'SOL' })), /Shown: .*On chain: /);
    }
  });

  it('finds nothing against an honest rotation, and who else would vote by one that is not', async () => {
    const project = await createProject(world);
    const [to, stranger] = [await generateKeyPairSigner(), (await generateKeyPairSigner()).address];
    const { batchId } = requireOk(await rotateWallet(world, project, to));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    const input = await inputOf(project, batchId);
    assert.equal(await textOf(input), '');
    assert.match(
      await textOf(altered(input, { to: stranger })),
      new RegExp(`Shown: ${stranger} may vote.*On chain: ${to.address} becomes a member with the permissions 2`),
    );
    assert.match(await textOf(altered(input, { from: stranger })), /Shown: .*On chain: /);
    // On chain all is as shown: what lies is whose vote it is said to be.
    assert.match(await textOf(altered(input, { approver: 'company' })), /the company’s vote, .* your own wallet/);
    const asBurn = { action: 'MEMO', message: 'thank you' };
    await assert.rejects(textOf(altered(input, asBurn)), /is no Squads batch/);
  });

  it('does not take a batch for a rotation', async () => {
    const project = await createProject(world);
    const to = project.wallet.address;
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
    const input = await inputOf(project, batchId);
    await assert.rejects(textOf(altered(input, { action: 'ROTATE', approver: 'wallet', from: to })), /is no change of/);
  });
});
