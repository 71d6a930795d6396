import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readProposalContent, type VerificationInput, verifyApproval } from '@flywheel/sdk';
import {
  type ConfigAction,
  getConfigTransactionCreateInstruction,
  getProposalCreateInstruction,
  PERMISSION,
  proposalAddress,
  transactionAddress,
} from '@flywheel/squads';
import { findMultisig, land } from '@flywheel/testing/chain';
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
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR, getTransferSolInstructionDataEncoder } from '@solana-program/system';
import { alterBatch, asDraft, openAlteringProxy } from './altering-proxy.ts';
import { buildApproval, vote } from './approvals.ts';

describe('verifyApproval of withdrawals and rotations', () => {
  let world: World;
  let companyCookie: string;
  let recovery: Address;
  before(async () => {
    recovery = (await generateKeyPairSigner()).address;
    ({ world, companyCookie } = await openConsoleWorld({ RECOVERY_ADDRESS: recovery }));
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

  /** Proposes a change of a multisig that has proposed nothing yet. */
  async function proposeChange(multisig: Address, actions: ConfigAction[]) {
    const { operator } = world;
    await land(world, operator, [
      getConfigTransactionCreateInstruction({
        ...{ multisig, transaction: transactionAddress(multisig, 1n), memo: null, actions },
        ...{ creator: operator.address, rentPayer: operator.address },
      }),
      getProposalCreateInstruction({
        ...{ multisig, proposal: proposalAddress(multisig, 1n), transactionIndex: 1n, draft: false },
        ...{ creator: operator.address, rentPayer: operator.address },
      }),
    ]);
    return { multisig, batchIndex: '1' };
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

  it('names what speaks against a proposal that the company decides about: a draft, another vault, a foreign instruction', async () => {
    const project = await createProject(world);
    const to = (await generateKeyPairSigner()).address;
    const id = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '0.5' });
    const { batch } = await inputOf(project, id);
    const issuesOf = async (alter: (account: Buffer) => Buffer) => {
      const proxy = await openAlteringProxy(world.localnet.url, alter);
      try {
        return (await readProposalContent(proxy.url, { ...batch, isRotation: false })).issues;
      } finally {
        proxy.stop();
      }
    };
    assert.deepEqual(await issuesOf((account) => account), []);
    assert.deepEqual(await issuesOf(asDraft), ['The proposal on chain is Draft, not Active.']);
    assert.deepEqual(await issuesOf(alterBatch((batch) => ({ ...batch, vaultIndex: 3 }))), [
      'The batch spends from vault 3, not from vault 0.',
    ]);
    const transfer = getTransferSolInstructionDataEncoder().encode({ amount: 500_000_000n });
    const [issue = '', ...others] = await issuesOf((account) => {
      const at = account.indexOf(Uint8Array.from(transfer));
      if (at !== -1) account.writeUInt8(ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR, at);
      return account;
    });
    assert.match(issue, /^No batch of the service does this: /);
    assert.deepEqual(others, []);
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
    const [pipeline] = input.batch.pipelines;
    assert.ok(pipeline);
    const [action] = pipeline.actions;
    assert.ok(action);
    const beside = { ...pipeline, actions: [action, { action: 'MEMO' as const, message: 'thank you' }] };
    assert.equal(
      await textOf({ ...input, batch: { ...input.batch, pipelines: [beside] } }),
      '2 actions are shown; a rotation on chain is a single one.',
    );
    const asBurn = { action: 'MEMO', message: 'thank you' };
    await assert.rejects(textOf(altered(input, asBurn)), /is not a Squads Batch/);
  });

  it('finds a new voter in the place of a member without a vote, with whom the company would need no wallet', async () => {
    const { wallet, vaultAddress, mintAddress, ...project } = await createProject(world);
    const multisig = address(project.multisig);
    const { company } = await findMultisig(world, project);
    const { address: to } = await generateKeyPairSigner();
    const proposal = await proposeChange(multisig, [
      { __kind: 'AddMember', newMember: { key: to, permissions: { mask: PERMISSION.vote } } },
      { __kind: 'RemoveMember', oldMember: recovery },
    ]);
    const votes = await Promise.all([wallet.address, company].map((member) => vote(member, proposal)));
    const payer = await generateKeyPairSigner();
    const action = { action: 'ROTATE', approver: 'company', from: recovery, to } as const;
    const input: VerificationInput = {
      wallet: wallet.address,
      batch: {
        ...proposal,
        vaultAddress,
        mintAddress,
        pipelines: [{ type: 'ROTATE', payload: '{}', actions: [action] }],
      },
      proposalApproveTx: await buildApproval({ operator: payer, wallet, company, votes }),
    };
    assert.equal(
      await textOf(input),
      `It is shown as a change of the company, ${company}, but it removes ${recovery}.`,
    );
    const { issues } = await readProposalContent(world.localnet.url, { ...proposal, isRotation: true });
    assert.deepEqual(issues, [`${recovery} is no approver of the multisig.`]);
    const proxy = await openAlteringProxy(world.localnet.url, asDraft);
    const draft = await readProposalContent(proxy.url, { ...proposal, isRotation: true });
    proxy.stop();
    assert.deepEqual(draft.issues, ['The proposal on chain is Draft, not Active.', ...issues]);
  });

  it('is no replacement for the company to decide about if it changes something beside', async () => {
    const project = await createProject(world);
    const { address: multisig, company, wallet } = await findMultisig(world, project);
    const replacement: ConfigAction[] = [
      { __kind: 'AddMember', newMember: { key: company, permissions: { mask: PERMISSION.vote } } },
      { __kind: 'RemoveMember', oldMember: wallet },
    ];
    const proposal = await proposeChange(
      multisig,
      replacement.toSpliced(1, 0, { __kind: 'ChangeThreshold', newThreshold: 1 }),
    );
    await assert.rejects(
      readProposalContent(world.localnet.url, { ...proposal, isRotation: true }),
      /On chain: .* is added, then a change of the multisig’s configuration \(ChangeThreshold\), then/,
    );
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
