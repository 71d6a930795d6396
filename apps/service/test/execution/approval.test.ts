import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, type OpenBatch, readBatch, setUpBatch } from '@flywheel/testing/batches';
import { findMultisig, land, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, getBatch } from '@flywheel/testing/client';
import { createProject, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstruction,
  createNoopSigner,
  generateKeyPairSigner,
  type Instruction,
  prependTransactionMessageInstruction,
  setTransactionMessageComputeUnitPrice,
} from '@solana/kit';
import { getAdvanceNonceAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import { locateBatch, proposalApprove, proposalReject } from '../../src/squads/instructions.ts';
import { type ApprovalMessage, editApproval } from './edit-approval.ts';

const LIGHTHOUSE = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
const MEMO = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

describe('POST execute, for a signedTx that is not the approval of the batch,', () => {
  let world: World;
  let project: TestProject;
  let batch: OpenBatch & { readonly batchIndex: bigint };
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    batch = await setUpBatch(world, project, [burnPipeline()]);
  });
  after(() => world.stop());

  const refused = async (signedTx: string, message: RegExp) => {
    const answer = await executeSigned(world, project, { id: batch.id, signedTx });
    assertError(answer, 400, 'ERR_SIGNED_TX_INVALID', message);
  };
  const edited = (edit: (message: ApprovalMessage) => ApprovalMessage) =>
    editApproval(batch.proposalApproveTx, project.wallet, edit);
  const adding = (instruction: Instruction) =>
    edited((message) => appendTransactionMessageInstruction(instruction, message) as ApprovalMessage);

  it('rejects an unsigned, truncated or invalid transaction, and signatures over other bytes', async () => {
    await refused(batch.proposalApproveTx, /sign/);
    await refused(batch.signedTx.slice(0, 400), /transaction|message/);
    await refused('AAAA', /transaction/);
    await refused('not base64!', /base64/);
    await refused(`${batch.signedTx.slice(0, -8)}AAAAAAA=`, /./);
    await refused('A'.repeat(4_000), /4000|4,000/);
    // A worker, which refuses it too, would have recorded it.
    assert.equal('executionError' in (await readBatch(world, project, batch.id)), false);
  });

  it('rejects the approval of another batch, and the signature of another wallet', async () => {
    const other = await setUpBatch(world, project, [burnPipeline()]);
    await refused(other.signedTx, /nonce|proposal/);
    const stranger = await createProject(world);
    const theirs = await setUpBatch(world, stranger, [burnPipeline()]);
    await refused(theirs.signedTx, /./);
  });

  it('rejects added and changed instructions, whoever signed them', async () => {
    const multisig = await findMultisig(world, project);
    const located = locateBatch(multisig, batch.batchIndex);
    const thief = (await generateKeyPairSigner()).address;
    const from = (source: Address) =>
      getTransferSolInstruction({ source: createNoopSigner(source), destination: thief, amount: 1n });
    const plain = ({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Instruction => ({
      programAddress,
      accounts: accounts.map(({ address: account, role }) => ({ address: account, role })),
      data,
    });
    await refused(await adding(plain(from(multisig.operator))), /./);
    await refused(await adding(plain(from(project.wallet.address))), /./);
    await refused(await adding({ programAddress: MEMO, data: new TextEncoder().encode('hello') }), /./);
    await refused(await adding(proposalApprove(located, multisig.wallet)), /./);
    await refused(await adding(proposalReject(located, multisig.company)), /./);
    await refused(await adding({ programAddress: LIGHTHOUSE, data: Uint8Array.of(0, 1, 2) }), /Lighthouse|assert/i);
    const touching = { address: multisig.operator, role: AccountRole.READONLY };
    await refused(await adding({ programAddress: LIGHTHOUSE, accounts: [touching], data: Uint8Array.of(5, 1) }), /./);
    const before = edited(
      (message) => prependTransactionMessageInstruction(plain(from(multisig.wallet)), message) as ApprovalMessage,
    );
    await refused(await before, /./);
    const without = (drop: number) =>
      edited(
        (message) =>
          ({ ...message, instructions: message.instructions.filter((_, i) => i !== drop) }) as ApprovalMessage,
      );
    for (const drop of [3, 4]) await refused(await without(drop), /./);
  });

  it('rejects a priority fee over the limit, and accepts a raised one within it', async () => {
    const priced = (microLamports: bigint) =>
      edited((message) => setTransactionMessageComputeUnitPrice(microLamports, message) as ApprovalMessage);
    await refused(await priced(2_000_000n), /100,?000/);
    const supply = await tokenSupply(world, project.mint);
    const answer = await executeSigned(world, project, { id: batch.id, signedTx: await priced(200_000n) });
    assert.equal(answer.body.status, 'EXECUTED', 'after all these refusals the batch is still executable');
    assert.equal(await tokenSupply(world, project.mint), supply - 1_000_000n);
  });

  it('accepts anything after the batch was executed', async () => {
    const answer = await executeSigned(world, project, { id: batch.id, signedTx: 'garbage' });
    assert.deepEqual([answer.status, answer.body.status], [200, 'EXECUTED']);
  });
});

describe('POST execute, for an approval whose nonce has advanced,', () => {
  it('answers where the rebuilt approval is, which then works', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const { nonce_address } = await world.db
        .selectFrom('batches')
        .select('nonce_address')
        .where('id', '=', batch.id)
        .executeTakeFirstOrThrow();
      const advance = getAdvanceNonceAccountInstruction({
        nonceAccount: nonce_address,
        nonceAuthority: world.operator,
      });
      await land(world, world.operator, [advance]);
      const stale = await executeSigned(world, project, batch);
      assertError(stale, 400, 'ERR_SIGNED_TX_INVALID', /include=approval/);
      const { body } = await getBatch(world.url, project.apiKey, batch.id, '?include=approval');
      assert.notEqual(body.proposalApproveTx, batch.proposalApproveTx);
      const signedTx = await signWith(project.wallet, body.proposalApproveTx);
      assert.equal((await executeSigned(world, project, { id: batch.id, signedTx })).body.status, 'EXECUTED');
    } finally {
      await world.stop();
    }
  });
});
