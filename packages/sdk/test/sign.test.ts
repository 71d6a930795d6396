import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isFlywheelError, type ProposalToApprove, signApproval } from '@flywheel/sdk';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  type KeyPairSigner,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessagePriorityFeeLamports,
  type TransactionMessage,
  verifySignature,
} from '@solana/kit';
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget';
import { getAdvanceNonceAccountInstruction } from '@solana-program/system';
import { decodeStaticTransaction } from '../src/signing/decode.ts';
import { type ApprovalOptions, buildApproval, PROPOSAL, transfer, vote, voteWithMemo } from './approvals.ts';

const BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;

let operator: KeyPairSigner;
let wallet: KeyPairSigner;
let company: KeyPairSigner;
let proposal: ProposalToApprove;

before(async () => {
  [operator, wallet, company] = await Promise.all([
    generateKeyPairSigner(),
    generateKeyPairSigner(),
    generateKeyPairSigner(),
  ]);
  proposal = { ...PROPOSAL, company: company.address };
});

describe('decodeStaticTransaction', () => {
  it('refuses every transaction that keeps accounts or a fee where no instruction names them', () => {
    const send = transfer(wallet.address, operator.address);
    const lifetime = { blockhash: BLOCKHASH, lastValidBlockHeight: 1n };
    const of = <Message extends TransactionMessage>(empty: Message) =>
      setTransactionMessageLifetimeUsingBlockhash(
        lifetime,
        appendTransactionMessageInstructions([send], setTransactionMessageFeePayer(wallet.address, empty)),
      );
    const wireOf = (message: Parameters<typeof compileTransaction>[0]) =>
      getBase64EncodedWireTransaction(compileTransaction(message));
    const current = of(createTransactionMessage({ version: 0 }));
    const tables = { [company.address]: [operator.address] };
    assert.equal(decodeStaticTransaction(wireOf(current), 'it').instructions.length, 1);
    for (const message of [
      of(createTransactionMessage({ version: 'legacy' })),
      setTransactionMessagePriorityFeeLamports(10n ** 9n, of(createTransactionMessage({ version: 1 }))),
      compressTransactionMessageUsingAddressLookupTables(current, tables),
    ]) {
      assert.throws(
        () => decodeStaticTransaction(wireOf(message), 'it'),
        (error) => isFlywheelError(error, 'ERR_SIGNING_REFUSED') && /without lookup tables/.test(error.message),
      );
    }
  });
});

describe('signApproval', () => {
  it('adds the wallet’s signature, keeps the operator’s and leaves the company’s empty', async () => {
    const signed = decodeTransaction(await signApproval(await approval(), wallet, proposal));
    assert.deepEqual(signed.messageBytes, decodeTransaction(await approval()).messageBytes);
    for (const { keyPair, address } of [wallet, operator]) {
      const signature = signed.signatures[address];
      assert.ok(signature && (await verifySignature(keyPair.publicKey, signature, signed.messageBytes)));
    }
    assert.equal(signed.signatures[company.address], null);
  });

  it('ignores white space around the text, which files and pipes add', async () => {
    const text = await approval();
    assert.equal(await signApproval(`\n${text}\n`, wallet, proposal), await signApproval(text, wallet, proposal));
  });

  it('rejects a transaction that does anything but vote', async () => {
    const text = await approval({ extra: [transfer(wallet.address, operator.address)] });
    await assert.rejects(
      signApproval(text, wallet, proposal),
      refusal(/Instruction 5 calls 1{32}, which is not part of an approval/),
    );
  });

  it('rejects an instruction of the compute budget that is too short or too long', async () => {
    for (const data of [[2, 1], [3], [2, 1, 0, 0, 0, 0]]) {
      const budget = { programAddress: COMPUTE_BUDGET_PROGRAM_ADDRESS, data: Uint8Array.from(data) };
      await assert.rejects(
        signApproval(await approval({ extra: [budget] }), wallet, proposal),
        refusal(/Instruction 5 calls ComputeBudget1+, which is not part of an approval/),
      );
    }
  });

  it('rejects a transaction that the wallet would pay for', async () => {
    const text = await approval({ feePayer: wallet.address });
    await assert.rejects(signApproval(text, wallet, proposal), refusal(/Your wallet would pay the fee/));
  });

  it('rejects a wallet that the transaction does not need', async () => {
    const stranger = await generateKeyPairSigner();
    await assert.rejects(
      signApproval(await approval(), stranger, proposal),
      refusal(/It contains 0 votes of your wallet; it must contain 1/),
    );
  });

  it('rejects an approval of another proposal, or of the same index in another multisig', async () => {
    const text = await approval();
    await assert.rejects(
      signApproval(text, wallet, { ...proposal, batchIndex: '8' }),
      refusal(/Instruction 3 approves another proposal, /),
    );
    const multisig = company.address;
    await assert.rejects(
      signApproval(text, wallet, { ...proposal, multisig }),
      refusal(/Instruction 3 votes in another multisig, /),
    );
  });

  it('rejects an approval that votes for a second proposal as well', async () => {
    const second = await vote(wallet.address, { ...proposal, batchIndex: '8' });
    await assert.rejects(
      signApproval(await approval({ extra: [second] }), wallet, proposal),
      refusal(/Instruction 5 approves another proposal, .* It contains 2 votes of your wallet; it must contain 1/),
    );
  });

  it('rejects an approval in which a third member votes, or another than the company', async () => {
    const stranger = (await generateKeyPairSigner()).address;
    await assert.rejects(
      signApproval(await approval({ extra: [await vote(stranger)] }), wallet, proposal),
      refusal(/It contains 2 votes of other members; it must contain 1/),
    );
    await assert.rejects(
      signApproval(await approval(), wallet, { ...proposal, company: stranger }),
      refusal(new RegExp(`votes as ${company.address}, which is neither your wallet nor the company ${stranger}`)),
    );
  });

  it('accepts whichever member votes for the company only if the caller trusts the service', async () => {
    await signApproval(await approval(), wallet, { ...PROPOSAL, company: 'trust-service' });
    // @ts-expect-error A caller without types may leave it out.
    await assert.rejects(signApproval(await approval(), wallet, PROPOSAL), refusal(/company is missing/));
  });

  it('rejects an approval with the wallet’s vote alone, or with a memo in it', async () => {
    await assert.rejects(
      signApproval(await approval({ votes: [await vote(wallet.address)] }), wallet, proposal),
      refusal(/It contains 0 votes of other members; it must contain 1/),
    );
    const votes = [await voteWithMemo(wallet.address), await vote(company.address)];
    await assert.rejects(
      signApproval(await approval({ votes }), wallet, proposal),
      refusal(/Instruction 3 calls SQDS\w+, which is not part of an approval/),
    );
  });

  it('rejects an approval that advances a nonce of the wallet, or needs a signer who does not vote', async () => {
    await assert.rejects(
      signApproval(await approval({ nonceAuthority: wallet.address }), wallet, proposal),
      refusal(/Instruction 1 advances \w+, a nonce of your wallet/),
    );
    const stranger = (await generateKeyPairSigner()).address;
    await assert.rejects(
      signApproval(await approval({ nonceAuthority: stranger }), wallet, proposal),
      refusal(new RegExp(`It is also signed by ${stranger}, which does not vote`)),
    );
  });

  it('rejects an approval that advances a second nonce, whoever may advance it', async () => {
    const second = getAdvanceNonceAccountInstruction({ nonceAccount: company.address, nonceAuthority: operator });
    await assert.rejects(
      signApproval(await approval({ extra: [second] }), wallet, proposal),
      refusal(/Instruction 5 advances another nonce/),
    );
  });

  it('rejects a text that is not a transaction', async () => {
    const text = await approval();
    for (const bad of ['', 'hello', 'AAAA', text.slice(0, 200)]) {
      await assert.rejects(signApproval(bad, wallet, proposal), refusal(/it is not a base64 transaction/));
    }
  });
});

function approval(options: Partial<ApprovalOptions> = {}): Promise<Base64EncodedWireTransaction> {
  return buildApproval({ operator, wallet, company: company.address, ...options });
}

function refusal(pattern: RegExp) {
  return (error: unknown) => isFlywheelError(error, 'ERR_SIGNING_REFUSED') && pattern.test(error.message);
}
