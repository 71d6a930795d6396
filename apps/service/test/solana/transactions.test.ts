import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  AccountRole,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  blockhash,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase58Encoder,
  type KeyPairSigner,
  type SignatureBytes,
  setTransactionMessageFeePayer,
  verifySignature,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import {
  addSignatures,
  partiallySignTransaction,
  signatureOf,
  signTransaction,
} from '../../src/solana/transactions.ts';

const LIFETIME = { blockhash: blockhash('GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W'), lastValidBlockHeight: 1n };
let [operator, wallet, company]: KeyPairSigner[] = [];
before(async () => {
  [operator, wallet, company] = await Promise.all([0, 1, 2].map(() => generateKeyPairSigner()));
});

/** Builds a message that needs the signatures of all three and has a memo of this length. */
function messageOf(length = 5) {
  const [payer, ...others] = signers();
  return appendTransactionMessageInstructions(
    [
      {
        programAddress: SYSTEM_PROGRAM_ADDRESS,
        accounts: others.map(({ address }) => ({ address, role: AccountRole.READONLY_SIGNER })),
        data: new Uint8Array(length),
      },
    ],
    setTransactionMessageFeePayer(payer.address, createTransactionMessage({ version: 0 })),
  );
}

function signers(): readonly [KeyPairSigner, KeyPairSigner, KeyPairSigner] {
  assert.ok(operator && wallet && company);
  return [operator, wallet, company];
}

describe('signTransaction', () => {
  it('adds every signature, and returns the fee payer’s', async () => {
    const [payer, ...others] = signers();
    const { wire, signature } = await signTransaction(messageOf(), LIFETIME, [...others, payer]);
    const { signatures, messageBytes } = decodeTransaction(wire);
    for (const { address, keyPair } of signers()) {
      const made = signatures[address];
      assert.ok(made);
      assert.ok(await verifySignature(keyPair.publicKey, made, messageBytes));
    }
    assert.deepEqual(signatures[payer.address], getBase58Encoder().encode(signature));
    assert.equal(signatureOf(wire), signature);
  });

  it('names the missing signer', async () => {
    const [payer, , last] = signers();
    await assert.rejects(
      signTransaction(messageOf(), LIFETIME, [payer]),
      new RegExp(`lacks the signature of .*${last.address}`),
    );
  });

  it('says by how many bytes a transaction is too large', async () => {
    await assert.rejects(
      signTransaction(messageOf(1_000), LIFETIME, signers()),
      /takes 1\d{3} bytes; it may have 1232\.$/,
    );
  });
});

describe('addSignatures', () => {
  it('keeps the wallet’s signature and adds the others', async () => {
    const [payer, signsFirst, signsLast] = signers();
    const first = await partiallySignTransaction(messageOf(), LIFETIME, [signsFirst]);
    const { wire, signature } = await addSignatures(first.wire, [signsLast, payer]);
    const [before, after] = [decodeTransaction(first.wire), decodeTransaction(wire)];
    assert.deepEqual(after.messageBytes, first.messageBytes);
    assert.deepEqual(after.signatures[signsFirst.address], before.signatures[signsFirst.address]);
    assert.ok(Object.values(after.signatures).every((made: SignatureBytes | null) => made !== null));
    assert.equal(signatureOf(wire), signature);
  });

  it('names the signer that is still missing', async () => {
    const [payer, signsFirst, forgotten] = signers();
    const { wire } = await partiallySignTransaction(messageOf(), LIFETIME, [signsFirst]);
    await assert.rejects(addSignatures(wire, [payer]), new RegExp(`lacks the signature of ${forgotten.address}\\.$`));
  });

  it('rejects a signer that the transaction does not need', async () => {
    const { wire } = await partiallySignTransaction(messageOf(), LIFETIME, []);
    await assert.rejects(addSignatures(wire, [...signers(), await generateKeyPairSigner()]));
  });

  it('rejects an invalid transaction', async () => {
    await assert.rejects(addSignatures('AAAA' as Base64EncodedWireTransaction, signers()));
  });
});
