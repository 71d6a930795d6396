import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type BatchContent,
  findDecisionIssue,
  MAX_DECISION_BYTES,
  memoMessageBytes,
  summarizeContent,
  writeDecisionText,
} from '@flywheel/protocol';
import { type Address, generateKeyPairSigner, signBytes } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import vectors from '../../../vectors/company-decisions.json' with { type: 'json' };

type Vector = (typeof vectors.decisions)[number];

describe('golden company decisions', () => {
  for (const vector of vectors.decisions) {
    it(`findDecisionIssue accepts ${vector.name}, and no byte of it changed`, async () => {
      const text = await writeDecisionText(termsOf(vector));
      assert.equal(text, vector.text);
      assert.equal(await findDecisionIssue(text, operatorOf(vector), signedOf(vector)), null);
      for (const field of ['signedMessage', 'signature'] as const) {
        for (const position of [0, 20, 63]) {
          const signed = signedOf(vector);
          signed[field][position] = (signed[field][position] ?? 0) ^ 1;
          assert.notEqual(await findDecisionIssue(text, operatorOf(vector), signed), null, `${field} ${position}`);
        }
      }
      const { signedMessage, signature } = signedOf(vector);
      const longer = { signature, signedMessage: Uint8Array.of(...signedMessage, 0) };
      assert.notEqual(await findDecisionIssue(text, operatorOf(vector), longer), null);
    });
  }

  it('no signature of one decision is accepted for another', async () => {
    const [vector] = vectors.decisions;
    assert.ok(vector);
    const terms = termsOf(vector);
    const other = (await generateKeyPairSigner()).address;
    const others: Readonly<Record<string, Partial<typeof terms>>> = {
      decision: { decision: 'reject', reason: 'No.' },
      batch: { batchIndex: 13n },
      multisig: { multisig: other },
      cluster: { genesisHash: other },
      content: { content: { pipelines: [] } },
      nonce: { nonce: 'f'.repeat(32) },
      expiry: { expiresAt: new Date(terms.expiresAt.getTime() + 1) },
    };
    for (const [name, change] of Object.entries(others)) {
      const text = await writeDecisionText({ ...terms, ...change });
      assert.notEqual(await findDecisionIssue(text, operatorOf(vector), signedOf(vector)), null, name);
    }
    const text = await writeDecisionText({ ...terms, operator: other });
    assert.match((await findDecisionIssue(text, other, signedOf(vector))) ?? '', /signed bytes/);
  });
});

describe('a company decision', () => {
  it('keeps a reason on one line, so that it cannot imitate another line', async () => {
    const [vector] = vectors.decisions;
    assert.ok(vector);
    const reason = 'No.\nDecision: approve';
    const text = await writeDecisionText({ ...termsOf(vector), decision: 'reject', reason });
    assert.ok(text.split('\n').includes('Reason: "No.\\nDecision: approve"'));
  });

  it('of MAX_DECISION_BYTES fits a memo transaction', async () => {
    const { address } = await generateKeyPairSigner();
    const SIGNATURE_BYTES = 1 + 64;
    assert.ok(memoMessageBytes('x'.repeat(MAX_DECISION_BYTES), address).length + SIGNATURE_BYTES <= 1_232);
  });

  it('is not accepted in a memo transaction that a cluster could execute', async () => {
    const operator = await generateKeyPairSigner();
    const sendable = new Uint8Array(memoMessageBytes('text', operator.address));
    // The blockhash of a legacy message stands after its header, a count and three keys.
    const BLOCKHASH_OFFSET = 3 + 1 + 2 * 32;
    sendable[BLOCKHASH_OFFSET] = 1;
    const signature = await signBytes(operator.keyPair.privateKey, sendable);
    const issue = await findDecisionIssue('text', operator.address, { signedMessage: sendable, signature });
    assert.match(issue ?? '', /signed bytes/);
  });
});

describe('summarizeContent', () => {
  it('names instructions that no batch of the service has', async () => {
    const { address } = await generateKeyPairSigner();
    const setAuthority = {
      programAddress: TOKEN_PROGRAM_ADDRESS,
      accounts: [address, address],
      data: Uint8Array.of(6),
    };
    const { effects, unknown } = summarizeContent({ pipelines: [[setAuthority]] });
    assert.deepEqual([effects, unknown.length], [[], 1]);
  });
});

function termsOf({ decision, reason, batchIndex, expiresAt, content, ...vector }: Vector) {
  return {
    ...vector,
    decision: decision === 'reject' ? ('reject' as const) : ('approve' as const),
    reason,
    batchIndex: BigInt(batchIndex),
    multisig: vector.multisig as Address,
    operator: vector.operator as Address,
    expiresAt: new Date(expiresAt),
    content: contentOf(content),
  };
}

function contentOf({ pipelines, replacement }: Vector['content']): BatchContent {
  if (replacement) {
    const [from, to] = [replacement.from as Address, replacement.to as Address];
    return { replacement: { role: replacement.role === 'operator' ? 'operator' : 'approver', from, to } };
  }
  return {
    pipelines: (pipelines ?? []).map((instructions) =>
      instructions.map(({ programAddress, accounts, dataHex }) => ({
        programAddress: programAddress as Address,
        accounts: accounts as Address[],
        data: Buffer.from(dataHex, 'hex'),
      })),
    ),
  };
}

function operatorOf({ operator }: Vector): Address {
  return operator as Address;
}

function signedOf({ signedMessageHex, signatureHex }: Vector) {
  return { signedMessage: Buffer.from(signedMessageHex, 'hex'), signature: Buffer.from(signatureHex, 'hex') };
}
