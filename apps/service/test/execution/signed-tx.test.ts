import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, setUpBatch } from '@flywheel/testing/batches';
import { findMultisig, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { decodeTransaction } from '@flywheel/testing/values';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  AccountRole,
  address,
  appendTransactionMessageInstruction,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  type Instruction,
  type Nonce,
  setTransactionMessageFeePayer,
  type Transaction,
} from '@solana/kit';
import type { LeasedNonce } from '../../src/model/batch.ts';
import type { Multisig } from '../../src/model/project.ts';
import { approveTransaction } from '../../src/squads/approval.ts';
import { locateBatch, proposalReject } from '../../src/squads/instructions.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { type ApprovalMessage, editApproval, signMessage } from './edit-approval.ts';

const LIGHTHOUSE = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
/** Indices of Lighthouse's instructions, from its client, github.com/Jac0xb/lighthouse. */
const [MEMORY_WRITE, MEMORY_CLOSE, ASSERT_ACCOUNT_INFO] = [0, 1, 5];
/** The company's vote is the last instruction of an approval. */
const COMPANY_VOTE = -1;

type OnChain = Awaited<ReturnType<typeof setUpBatch>>;

describe('a signedTx', () => {
  let world: World;
  let project: TestProject;
  let multisig: Multisig;
  let batch: OnChain;
  let other: OnChain;

  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    multisig = await findMultisig(world, project);
    batch = await setUpBatch(world, project, [burnPipeline()]);
    other = await setUpBatch(world, project, [burnPipeline()]);
  });
  after(() => world.stop());

  it('of another transaction version, or with lookup tables, is rejected', async () => {
    await refused(
      await edited((message) => ({ ...message, version: 'legacy' }) as unknown as ApprovalMessage),
      /legacy transaction; the approval is version 0/,
    );
    const compiled = getCompiledTransactionMessageDecoder().decode(
      decodeTransaction(batch.proposalApproveTx).messageBytes,
    );
    assert.equal(compiled.version, 0);
    const lookup = { lookupTableAddress: multisig.lookupTable.address, readonlyIndexes: [0], writableIndexes: [] };
    const withTable = { ...compiled, addressTableLookups: [lookup] } as typeof compiled;
    const messageBytes = getCompiledTransactionMessageEncoder().encode(withTable);
    await refused(await signMessage(messageBytes, project.wallet), /uses 1 lookup tables; the approval uses none/);
  });

  it('with another fee payer than the operator is rejected', async () => {
    for (const payer of [project.wallet.address, multisig.company]) {
      await refused(
        await edited((message) => setTransactionMessageFeePayer(payer, message) as ApprovalMessage),
        new RegExp(`fee payer is ${payer}, not the operator ${multisig.operator}`),
      );
    }
  });

  it('with the nonce of another batch, or another value of its own nonce, is rejected', async () => {
    const [ours, theirs] = [await nonceOf(batch), await nonceOf(other)];
    await refused(await approval(batch.batchIndex, theirs), new RegExp(`advance of the nonce ${ours.address}`));
    // Nonces that were created in one block start with the same value, so the other batch's may equal this one. Any 32
    // bytes are valid.
    const moved = { ...ours, value: multisig.address as string as Nonce };
    await refused(await approval(batch.batchIndex, moved), /nonce has advanced.*include=approval/);
  });

  it('with the proposal of another batch and this batch’s nonce is rejected', async () => {
    const { proposal } = locateBatch(multisig, batch.batchIndex);
    await refused(
      await approval(other.batchIndex, await nonceOf(batch)),
      new RegExp(`approval of proposal ${proposal}`),
    );
    await refused(await approval(10_000n, await nonceOf(batch)), /not a plain approval/);
  });

  it('with a rejection, or a vote with a memo, instead of an approval is rejected', async () => {
    const reject = proposalReject(locateBatch(multisig, batch.batchIndex), multisig.company);
    await refused(await edited(replacing(() => reject)), /Instruction 5 is not a plain approval/);
    const withMemo = replacing((vote) => ({
      ...vote,
      // Borsh encodes Some, a length of two, and "hi".
      data: Uint8Array.of(...(vote.data ?? []).slice(0, 8), 1, 2, 0, 0, 0, ...new TextEncoder().encode('hi')),
    }));
    await refused(await edited(withMemo), /Instruction 5 is not a plain approval/);
  });

  it('with duplicate votes, or another signature in the wallet’s place, is rejected', async () => {
    const twice = (message: ApprovalMessage) =>
      ({ ...message, instructions: [...message.instructions, ...message.instructions.slice(3)] }) as ApprovalMessage;
    await refused(await edited(twice), /2 approvals by/);
    const { signatures } = decodeTransaction(other.signedTx);
    const transaction = decodeTransaction(batch.proposalApproveTx);
    const forged = { ...transaction, signatures: { ...transaction.signatures, ...signatures } } as Transaction;
    await refused(getBase64EncodedWireTransaction(forged), /signature of .* does not verify/);
  });

  it('with Lighthouse writes or closes, or an assertion about a signer, is rejected', async () => {
    for (const kind of [MEMORY_WRITE, MEMORY_CLOSE]) {
      await refused(await edited(guarded(kind)), new RegExp(`not an assertion of Lighthouse \\(kind ${kind}\\)`));
    }
    for (const signer of [multisig.operator, multisig.company, project.wallet.address]) {
      await refused(
        await edited(guarded(ASSERT_ACCOUNT_INFO, signer)),
        new RegExp(`passes the signer ${signer} to Lighthouse`),
      );
    }
  });

  it('with an assertion of Lighthouse is accepted, and nothing is sent if the assertion fails', async () => {
    // This cluster has no Lighthouse program: the approval passes the check of its content and fails in simulation.
    const answer = await executeSigned(world, project, {
      id: batch.id,
      signedTx: await edited(guarded(ASSERT_ACCOUNT_INFO)),
    });
    assertError(answer, 409, 'ERR_BATCH_WOULD_FAIL', /The approval fails/);
  });

  it('that was rejected changes no batch: all of them still execute', async () => {
    const supply = await tokenSupply(world, project.mint);
    for (const { id, signedTx, batchIndex } of [other, batch]) {
      const { proposal } = await readBatchOnChain(world, project, batchIndex);
      assert.deepEqual([proposal.status, proposal.approved, proposal.rejected], ['Active', [], []]);
      assert.equal(requireOk(await executeSigned(world, project, { id, signedTx })).status, 'EXECUTED');
    }
    assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
  });

  async function refused(signedTx: string, message: RegExp): Promise<void> {
    const answer = await executeSigned(world, project, { id: batch.id, signedTx });
    assertError(answer, 400, 'ERR_SIGNED_TX_INVALID', message);
  }

  function edited(edit: (message: ApprovalMessage) => ApprovalMessage): Promise<string> {
    return editApproval(batch.proposalApproveTx, project.wallet, edit);
  }

  /** Builds the approval that init would build for another index or nonce, signed by the right wallet. */
  async function approval(batchIndex: bigint, nonce: LeasedNonce): Promise<string> {
    return signWith(project.wallet, approveTransaction(multisig, batchIndex, nonce));
  }

  async function nonceOf({ id }: OnChain): Promise<LeasedNonce> {
    const found = await findBatch(world.db, id);
    if (!found) throw new Error(`There is no batch ${id}.`);
    return found.nonce;
  }

  function guarded(kind: number, target = multisig.address) {
    const guard: Instruction = {
      programAddress: LIGHTHOUSE,
      accounts: [{ address: target, role: AccountRole.READONLY }],
      data: Uint8Array.of(kind, 0, 0, 0),
    };
    return (message: ApprovalMessage) => appendTransactionMessageInstruction(guard, message) as ApprovalMessage;
  }
});

function replacing(replace: (companyVote: Instruction) => Instruction) {
  return (message: ApprovalMessage): ApprovalMessage => {
    const vote = message.instructions.at(COMPANY_VOTE);
    if (!vote) throw new Error('The approval is empty.');
    return {
      ...message,
      instructions: [...message.instructions.slice(0, COMPANY_VOTE), replace(vote)],
    } as ApprovalMessage;
  };
}
