import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isFlywheelError, signApproval, signTransaction } from '@flywheel/sdk';
import {
  type Base64EncodedWireTransaction,
  generateKeyPairSigner,
  getBase64Encoder,
  getTransactionDecoder,
  type KeyPairSigner,
  verifySignature,
} from '@solana/kit';
import { type ApprovalOptions, buildApproval, transfer } from './approvals.ts';

let operator: KeyPairSigner;
let wallet: KeyPairSigner;
let company: KeyPairSigner;

before(async () => {
  [operator, wallet, company] = await Promise.all([
    generateKeyPairSigner(),
    generateKeyPairSigner(),
    generateKeyPairSigner(),
  ]);
});

describe('signApproval', () => {
  it('adds the wallet’s signature, keeps the operator’s and leaves the company’s empty', async () => {
    const signed = decode(await signApproval(await approval(), wallet));
    assert.deepEqual(signed.messageBytes, decode(await approval()).messageBytes);
    for (const { keyPair, address } of [wallet, operator]) {
      const signature = signed.signatures[address];
      assert.ok(signature && (await verifySignature(keyPair.publicKey, signature, signed.messageBytes)));
    }
    assert.equal(signed.signatures[company.address], null);
  });

  it('ignores white space around the text, which files and pipes add', async () => {
    const text = await approval();
    assert.equal(await signApproval(`\n${text}\n`, wallet), await signApproval(text, wallet));
  });

  it('rejects a transaction that does anything but vote', async () => {
    const text = await approval({ extra: [transfer(wallet.address, operator.address)] });
    await assert.rejects(
      signApproval(text, wallet),
      refusal(/instruction 4 calls 1{32}, which is not part of an approval/),
    );
  });

  it('rejects a transaction that the wallet would pay for', async () => {
    const text = await approval({ feePayer: wallet.address });
    await assert.rejects(signApproval(text, wallet), refusal(/your wallet \w+ would pay the fee/));
  });

  it('rejects a wallet that the transaction does not need', async () => {
    const stranger = await generateKeyPairSigner();
    await assert.rejects(
      signApproval(await approval(), stranger),
      refusal(new RegExp(`wallet is ${stranger.address}`)),
    );
  });

  it('rejects a text that is not a transaction', async () => {
    const text = await approval();
    for (const bad of ['', 'hello', 'AAAA', text.slice(0, 200)]) {
      await assert.rejects(signApproval(bad, wallet), refusal(/it is not a base64 transaction/));
    }
  });
});

describe('signTransaction', () => {
  it('signs any transaction that needs the signer', async () => {
    const text = await approval({ extra: [transfer(wallet.address, operator.address)] });
    const signed = decode(await signTransaction(text, wallet));
    assert.ok(signed.signatures[wallet.address]);
  });
});

function approval(options: Partial<ApprovalOptions> = {}): Promise<Base64EncodedWireTransaction> {
  return buildApproval({ operator, wallet, company: company.address, ...options });
}

function decode(text: string) {
  return getTransactionDecoder().decode(getBase64Encoder().encode(text));
}

function refusal(pattern: RegExp) {
  return (error: unknown) => isFlywheelError(error, 'ERR_SIGNING_REFUSED') && pattern.test(error.message);
}
