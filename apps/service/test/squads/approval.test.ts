import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isApiError } from '@flywheel/api';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  compileTransaction,
  decompileTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  type Nonce,
  partiallySignTransaction,
  type ReadonlyUint8Array,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayer,
  type Transaction,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';
import { getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import type { LeasedNonce } from '../../src/model/batch.ts';
import type { Multisig } from '../../src/model/project.ts';
import { approveTransaction } from '../../src/squads/approval.ts';
import { checkApproval, type ExpectedApproval } from '../../src/squads/approval-check.ts';
import { locateBatch, proposalApprove, proposalCancel } from '../../src/squads/instructions.ts';

const LIGHTHOUSE = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
const BATCH_ID = '4b0ed7a2-6a0f-4a57-9b0f-0c9b9f4b1f11';

describe('the approval of a batch', () => {
  let operator: KeyPairSigner;
  let company: KeyPairSigner;
  let wallet: KeyPairSigner;
  let stranger: KeyPairSigner;
  let multisig: Multisig;
  let nonce: LeasedNonce;
  let expected: ExpectedApproval;
  let unsigned: Base64EncodedWireTransaction;

  before(async () => {
    [operator, company, wallet, stranger] = await Promise.all([
      generateKeyPairSigner(),
      generateKeyPairSigner(),
      generateKeyPairSigner(),
      generateKeyPairSigner(),
    ]);
    multisig = {
      address: await freshAddress(),
      vault: await freshAddress(),
      vaultIndex: 0,
      operator: operator.address,
      recovery: null,
      rentCollector: operator.address,
      company: company.address,
      wallet: wallet.address,
      lookupTable: { address: await freshAddress(), addresses: [] },
    };
    // Any 32 bytes are a valid nonce value.
    nonce = { address: await freshAddress(), value: (await freshAddress()) as string as Nonce };
    expected = { batchId: BATCH_ID, batchIndex: 7n, multisig, nonce };
    unsigned = approveTransaction(multisig, 7n, nonce);
  });

  it('has the same bytes every time, is unsigned, and leaves space for guard instructions', async () => {
    assert.equal(approveTransaction(multisig, 7n, nonce), unsigned);
    const transaction = decodeTransaction(unsigned);
    assert.deepEqual(Object.values(transaction.signatures), [null, null, null]);
    assert.equal(getTransactionEncoder().encode(transaction).length, 612);
  });

  it('is accepted with the wallet’s signature', async () => {
    await accepted(await signed());
  });

  it('is accepted with a Lighthouse assertion and another compute budget within the fee', async () => {
    await accepted(await edited((message) => append(message, guard(2), guard(17))));
    await accepted(await edited((message) => setTransactionMessageComputeUnitLimit(1_000_000, message)));
    await accepted(await edited(priced(1_000_000n)));
    await accepted(
      await edited((message) =>
        setTransactionMessageComputeUnitLimit(undefined, setTransactionMessageComputeUnitPrice(0n, message)),
      ),
    );
  });

  it('is rejected unsigned, signed by another wallet, or with a signature over other bytes', async () => {
    await refused(unsigned, /is not signed by the project’s wallet/);
    const other = approveTransaction(multisig, 8n, nonce);
    const otherSignature = decodeTransaction(await signed(other)).signatures[wallet.address];
    const transaction = decodeTransaction(unsigned);
    const forged = { ...transaction, signatures: { ...transaction.signatures, [wallet.address]: otherSignature } };
    await refused(getBase64EncodedWireTransaction(forged as Transaction), /does not verify/);
    const foreign = approveTransaction({ ...multisig, wallet: stranger.address }, 7n, nonce);
    await refused(await signed(foreign, [stranger]), /does not require the signature of/);
  });

  it('is rejected for another batch, one vote only, a duplicate vote, a vote with a memo, or another kind of vote', async () => {
    await refused(await signed(approveTransaction(multisig, 8n, nonce)), /not a plain approval of proposal/);
    const batch = locateBatch(multisig, 7n);
    const ofWallet = proposalApprove(batch, wallet.address);
    const ofCompany = proposalApprove(batch, company.address);
    await refused(
      await edited(({ instructions, ...rest }) => ({ ...rest, instructions: instructions.slice(0, -1) })),
      /does not require the signature|0 approvals/,
    );
    await refused(await edited((message) => append(message, ofWallet)), /2 approvals by/);
    await refused(
      await edited(
        replaceLast({ ...ofCompany, data: Uint8Array.of(...(ofCompany.data ?? []).slice(0, 8), 1, 0, 0, 0, 0) }),
      ),
      /not a plain approval/,
    );
    await refused(await edited(replaceLast(proposalCancel(batch, company.address))), /not a plain approval/);
  });

  it('is rejected with any other instruction: a transfer, a second advance, another Squads vote', async () => {
    const transfer = getTransferSolInstruction({ source: operator, destination: stranger.address, amount: 1n });
    await refused(await edited((message) => append(message, transfer)), /Instruction 6 calls 1{32}/);
    await refused(
      await edited((message) => append(message, ...message.instructions.slice(0, 1))),
      /Instruction 6 calls 1{32}/,
    );
    const other = proposalApprove(locateBatch(multisig, 9n), wallet.address);
    await refused(await edited((message) => append(message, other)), /not a plain approval/);
    await refused(
      await edited((message) => append(message, { programAddress: SQUADS_PROGRAM_ADDRESS })),
      /not a plain approval/,
    );
  });

  it('is rejected with a fee over the maximum, a heap request, or a repeated budget', async () => {
    await refused(await edited(priced(1_000_001n)), /priority fee is 100001 lamports; at most 100000/);
    await refused(
      await edited((message) =>
        setTransactionMessageComputeUnitLimit(undefined, setTransactionMessageComputeUnitPrice(200_000n, message)),
      ),
      /priority fee is 120000 lamports/,
    );
    const budget = address('ComputeBudget111111111111111111111111111111');
    const heap = { programAddress: budget, data: Uint8Array.of(1, 0, 0, 4, 0) };
    await refused(await edited((message) => append(message, heap)), /no other part of the compute budget/);
    const again = getSetComputeUnitPriceInstruction({ microLamports: 1n });
    await refused(await edited((message) => append(message, again)), /once each/);
  });

  it('is rejected with a guard that writes, or that names a signer', async () => {
    for (const kind of [0, 1, 18, 255]) {
      await refused(await edited((message) => append(message, guard(kind))), /not an assertion of Lighthouse/);
    }
    await refused(
      await edited((message) => append(message, { programAddress: LIGHTHOUSE })),
      /not an assertion of Lighthouse/,
    );
    for (const signer of [operator, wallet, company]) {
      await refused(
        await edited((message) => append(message, guard(2, signer.address))),
        /passes the signer \w+ to Lighthouse/,
      );
    }
  });

  it('is rejected with another fee payer, another signer, another nonce or authority, or no advance first', async () => {
    await refused(await edited((message) => setTransactionMessageFeePayer(wallet.address, message)), /fee payer is/);
    const signing: Instruction = {
      programAddress: LIGHTHOUSE,
      accounts: [{ address: stranger.address, role: AccountRole.READONLY_SIGNER }],
      data: Uint8Array.of(2),
    };
    await refused(await edited((message) => append(message, signing)), /needs 4 signatures/);
    const otherNonce = { ...nonce, address: await freshAddress() };
    await refused(await signed(approveTransaction(multisig, 7n, otherNonce)), /advance of the nonce/);
    await refused(
      await edited(({ instructions: [first, ...others], ...rest }) => ({
        ...rest,
        instructions: first ? [...others, first] : [],
      })),
      /first instruction must be the operator’s advance/,
    );
  });

  it('is rejected with the path of the rebuilt transaction if the nonce has advanced', async () => {
    const moved = { ...expected, nonce: { ...nonce, value: (await freshAddress()) as string as Nonce } };
    await refused(
      await signed(),
      new RegExp(`nonce has advanced .* GET /v1/flywheel/batch/${BATCH_ID}\\?include=approval`),
      moved,
    );
  });

  it('is rejected with lookup tables, in other versions, truncated, extended, or as an invalid transaction', async () => {
    const compiled = getCompiledTransactionMessageDecoder().decode(decodeTransaction(unsigned).messageBytes);
    assert.equal(compiled.version, 0);
    const withTable = getCompiledTransactionMessageEncoder().encode({
      ...compiled,
      addressTableLookups: [{ lookupTableAddress: stranger.address, readonlyIndexes: [0], writableIndexes: [] }],
    } as typeof compiled);
    await refused(await resigned(withTable), /uses 1 lookup tables/);
    await refused(
      await edited((message) => ({ ...message, version: 'legacy' }) as unknown as Message),
      /legacy transaction/,
    );

    const bytes = Buffer.from(await signed(), 'base64');
    for (const length of [0, 1, 65, 300, bytes.length - 1]) {
      await refused(
        bytes.subarray(0, length).toString('base64'),
        /whole Solana transaction|cannot be decoded|canonical encoding/,
      );
    }
    await refused(
      Buffer.concat([bytes, Buffer.of(0)]).toString('base64'),
      /takes 420 bytes; the canonical encoding takes 419/,
    );
    await refused(bytes.toString('base64url').replaceAll('=', '-'), /not base64/);
    await refused('not base64', /not base64/);
    await refused('A'.repeat(4_000), /4000 characters; a transaction has at most 1644/);
  });

  it('throws only ERR_SIGNED_TX_INVALID, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.base64String(), bytesAsBase64()), (text) => refused(text, /./)),
      { numRuns: 300 },
    );
  });

  it('is rejected if any changed byte changes its meaning, even if the wallet signs the change', async () => {
    const original = decodeTransaction(unsigned).messageBytes;
    const meaning = meaningOf(original);
    let acceptedCount = 0;
    for (const [index, byte] of original.entries()) {
      for (const changed of [byte ^ 1, byte ^ 0x80]) {
        const mutated = original.slice();
        mutated[index] = changed;
        const text = await resignedIfPossible(mutated, await signed());
        try {
          await checkApproval(text, expected);
        } catch (error) {
          assert.ok(isApiError(error, 'ERR_SIGNED_TX_INVALID'), `byte ${index}: ${error}`);
          continue;
        }
        acceptedCount += 1;
        assert.deepEqual(meaningOf(decodeTransaction(text).messageBytes), meaning, `byte ${index} to ${changed}`);
      }
    }
    // Compute limit and price, counts of writable accounts and unused accounts: some changes must be harmless.
    assert.ok(acceptedCount > 0);
  });

  async function signed(transaction = unsigned, signers = [wallet]): Promise<Base64EncodedWireTransaction> {
    const keys = signers.map(({ keyPair }) => keyPair);
    return getBase64EncodedWireTransaction(await partiallySignTransaction(keys, decodeTransaction(transaction)));
  }

  type Message = Extract<TransactionMessage, { version: 0 }> & TransactionMessageWithFeePayer;

  /** Returns the approval after a wallet has changed and signed it. */
  async function edited(edit: (message: Message) => Message): Promise<string> {
    const compiled = getCompiledTransactionMessageDecoder().decode(decodeTransaction(unsigned).messageBytes);
    const message = decompileTransactionMessage(compiled);
    assert.equal(message.version, 0);
    return resigned(compileTransaction(edit(message as Message)).messageBytes);
  }

  /** Sets a price: 100,000 units at 1,000,000 micro-lamports are the 100,000 lamports that are allowed. */
  function priced(microLamports: bigint) {
    return (message: Message) =>
      setTransactionMessageComputeUnitPrice(microLamports, setTransactionMessageComputeUnitLimit(100_000, message));
  }

  async function resigned(messageBytes: ReadonlyUint8Array): Promise<string> {
    const { header, staticAccounts } = getCompiledTransactionMessageDecoder().decode(messageBytes);
    const signers = staticAccounts.slice(0, header.numSignerAccounts);
    const transaction = {
      messageBytes,
      signatures: Object.fromEntries(signers.map((signer) => [signer, null])),
    } as unknown as Transaction;
    const keys = signers.includes(wallet.address) ? [wallet.keyPair] : [];
    return getBase64EncodedWireTransaction(await partiallySignTransaction(keys, transaction));
  }

  /** Signs the changed message; if the change makes it invalid, the old signatures stay with the new bytes. */
  async function resignedIfPossible(messageBytes: Uint8Array, original: string): Promise<string> {
    try {
      return await resigned(messageBytes);
    } catch {
      const bytes = Buffer.from(original, 'base64');
      return Buffer.concat([bytes.subarray(0, bytes.length - messageBytes.length), messageBytes]).toString('base64');
    }
  }

  async function accepted(text: string): Promise<void> {
    await checkApproval(text, expected);
  }

  async function refused(text: string, problem: RegExp, as = expected): Promise<void> {
    await assert.rejects(checkApproval(text, as), (error) => {
      assert.ok(isApiError(error, 'ERR_SIGNED_TX_INVALID'), String(error));
      assert.match(error.message, problem);
      return true;
    });
  }

  function guard(kind: number, target: Address = multisig.address): Instruction {
    return {
      programAddress: LIGHTHOUSE,
      accounts: [{ address: target, role: AccountRole.READONLY }],
      data: Uint8Array.of(kind, 0, 0, 0),
    };
  }
});

function append<M extends TransactionMessage>(message: M, ...instructions: Instruction[]): M {
  return appendTransactionMessageInstructions(instructions, message) as unknown as M;
}

function replaceLast(instruction: Instruction) {
  return <M extends TransactionMessage>(message: M): M => ({
    ...message,
    instructions: [...message.instructions.slice(0, -1), instruction],
  });
}

function bytesAsBase64() {
  return fc.uint8Array({ maxLength: 1_300 }).map((bytes) => Buffer.from(bytes).toString('base64'));
}

/** Extracts what a message does: nonce, fee payer, signers, and every instruction except the compute budget. */
function meaningOf(messageBytes: ReadonlyUint8Array) {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  assert.equal(message.version, 0);
  const { staticAccounts, header, instructions, lifetimeToken } = message as typeof message & { version: 0 };
  return {
    lifetimeToken,
    feePayer: staticAccounts[0],
    signers: staticAccounts.slice(0, header.numSignerAccounts).sort(),
    instructions: instructions
      .map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => ({
        program: staticAccounts[programAddressIndex],
        accounts: accountIndices.map((index) => staticAccounts[index]),
        bytes: [...data],
      }))
      .filter(({ program }) => program !== 'ComputeBudget111111111111111111111111111111'),
  };
}

async function freshAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address;
}
