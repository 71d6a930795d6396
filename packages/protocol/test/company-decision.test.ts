import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  address,
  type BatchContent,
  type CompanyDecision,
  type CompanyTerms,
  type DecisionSubject,
  findDecisionIssue,
  findDecisionSizeIssue,
  fromPolicyJson,
  MAX_DECISION_BYTES,
  memoMessageBytes,
  NO_POLICY,
  startDecision,
  summarizeContent,
  toBaseUnitTerms,
  writeDecisionText,
  writeSignedDecision,
} from '@flywheel/protocol';
import { type Address, generateKeyPairSigner, signBytes } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import vectors from '../../../vectors/company-decisions.json' with { type: 'json' };

type Vector = (typeof vectors.decisions)[number];

describe('golden company decisions', () => {
  for (const vector of vectors.decisions) {
    it(`findDecisionIssue accepts ${vector.name}, and no byte of it changed`, async () => {
      const text = writeDecisionText(decisionOf(vector));
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
    const { address: other } = await generateKeyPairSigner();
    const common: readonly Partial<CompanyDecision>[] = [
      { genesisHash: other },
      { nonce: 'f'.repeat(32) },
      { expiresAt: new Date(0) },
    ];
    const lower = { approvalMode: 'automatic', burnBaseUnits: 1n, airdropBaseUnits: 1n } as const;
    const ofSubject: { readonly [Type in DecisionSubject['type']]: readonly object[] } = {
      batch: [
        { decision: 'reject', reason: 'No.' },
        { batchIndex: 13n },
        { multisig: other },
        { content: { pipelines: [] } },
      ],
      terms: [
        { multisig: other },
        { token: { mint: other, decimals: 6 } },
        { token: { mint: '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu', decimals: 5 } },
        { from: lower },
        { to: lower },
      ],
      resume: [{ multisig: other }, { multisig: null }, { pausedAt: new Date(0) }],
      admission: [
        { terms: null },
        { terms: lower },
        { multisig: other },
        { wallet: other },
        { token: { mint: other, decimals: 6 } },
        { token: { mint: '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu', decimals: 5 } },
      ],
      policy: [
        { version: 2 },
        { policy: NO_POLICY },
        { multisig: other },
        { token: { mint: other, decimals: 6 } },
        { token: { mint: '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu', decimals: 5 } },
      ],
    };
    for (const type of ['batch', 'terms', 'resume', 'admission', 'policy'] as const) {
      const vector = vectorOf(type);
      const { subject, ...decision } = decisionOf(vector);
      const changed = ofSubject[type].map((change) => ({ ...decision, subject: { ...subject, ...change } }));
      for (const attempt of [...changed, ...common.map((change) => ({ ...decision, subject, ...change }))]) {
        const text = writeDecisionText(attempt as CompanyDecision);
        assert.notEqual(await findDecisionIssue(text, operatorOf(vector), signedOf(vector)), null, text);
      }
      const text = writeDecisionText({ ...decision, subject, operator: other });
      assert.match((await findDecisionIssue(text, other, signedOf(vector))) ?? '', /signed bytes/);
    }
  });
});

describe('a company decision', () => {
  it('counts for a day from its start, and is written with its bytes in base64', () => {
    const { nonce: _, expiresAt: __, ...decision } = decisionOf(vectorOf('batch'));
    const now = new Date('2026-03-01T12:00:00.000Z');
    const started = startDecision(decision, { nonce: new Uint8Array(16).fill(0xa5), now });
    assert.deepEqual(started, { ...decision, nonce: 'a5'.repeat(16), expiresAt: new Date('2026-03-02T12:00:00.000Z') });
    const signed = { signedMessage: Uint8Array.of(1, 2, 3), signature: Uint8Array.of(255) };
    assert.deepEqual(writeSignedDecision(started, signed), {
      nonce: 'a5'.repeat(16),
      expiresAt: '2026-03-02T12:00:00.000Z',
      signedMessage: 'AQID',
      signature: '/w==',
    });
  });

  it('keeps a reason on one line, so that it cannot imitate another line', () => {
    const { subject, ...decision } = decisionOf(vectorOf('batch'));
    assert.ok(subject.type === 'batch');
    const rejection = { ...subject, decision: 'reject', reason: 'No.\nDecision: approve' } as const;
    const text = writeDecisionText({ ...decision, subject: rejection });
    assert.ok(text.split('\n').includes('Reason: "No.\\nDecision: approve"'));
  });

  it('longer than MAX_DECISION_BYTES is refused with its bytes, not its characters', () => {
    assert.equal(findDecisionSizeIssue('x'.repeat(MAX_DECISION_BYTES)), null);
    assert.match(findDecisionSizeIssue('理'.repeat(334)) ?? 'accepted', /^The text has 1002 bytes; 1000 fit\. /);
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

describe('toBaseUnitTerms', () => {
  it('converts both limits, and throws for one that is not an amount of the token', () => {
    const terms = { approvalMode: 'automatic', burnLimit: '0.5', airdropLimit: '1000' } as const;
    const expected = { approvalMode: 'automatic', burnBaseUnits: 500_000n, airdropBaseUnits: 1_000_000_000n };
    assert.deepEqual(toBaseUnitTerms(terms, 6), expected);
    assert.throws(() => toBaseUnitTerms(terms, 0), /^RangeError: 0\.5 is not an amount of a token with 0 decimals\.$/);
    assert.throws(() => toBaseUnitTerms({ ...terms, airdropLimit: '1e3' }, 6), /^RangeError: 1e3 is not an amount/);
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

function decisionOf({ subject, expiresAt, operator, ...vector }: Vector): CompanyDecision {
  return {
    ...vector,
    subject: subjectOf(subject),
    operator: operator as Address,
    expiresAt: new Date(expiresAt),
  };
}

function subjectOf(subject: Vector['subject']): DecisionSubject {
  const { type, content, from, to, terms } = subject;
  const token = subject.token && { ...subject.token, mint: subject.token.mint as Address };
  const multisig = subject.multisig as Address;
  if (type === 'resume') {
    return { type, multisig: subject.multisig === null ? null : multisig, pausedAt: new Date(subject.pausedAt ?? '') };
  }
  if (type === 'terms' && token && from && to) return { type, multisig, token, from: termsOf(from), to: termsOf(to) };
  if (type === 'policy' && token && subject.policy) {
    const { allowed, denied, ...rules } = subject.policy;
    const lists = { allowed: allowed === null ? null : allowed.map(address), denied: denied.map(address) };
    const policy = fromPolicyJson({ ...rules, ...lists });
    return { type, multisig, token, version: subject.version ?? 0, policy };
  }
  if (type === 'admission' && token) {
    return { type, multisig, wallet: subject.wallet as Address, token, terms: terms ? termsOf(terms) : null };
  }
  assert.ok(content && subject.batchIndex);
  const [decision, reason] = [
    subject.decision === 'reject' ? ('reject' as const) : ('approve' as const),
    subject.reason,
  ];
  const batchIndex = BigInt(subject.batchIndex);
  return { type: 'batch', decision, reason: reason ?? null, multisig, batchIndex, content: contentOf(content) };
}

function termsOf({ approvalMode, ...limits }: NonNullable<Vector['subject']['from']>): CompanyTerms {
  return {
    approvalMode: approvalMode === 'manual' ? 'manual' : 'automatic',
    burnBaseUnits: BigInt(limits.burnBaseUnits),
    airdropBaseUnits: BigInt(limits.airdropBaseUnits),
  };
}

function contentOf({ pipelines, replacement }: NonNullable<Vector['subject']['content']>): BatchContent {
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

function vectorOf(type: DecisionSubject['type']): Vector {
  const vector = vectors.decisions.find(({ subject }) => subject.type === type);
  assert.ok(vector);
  return vector;
}

function operatorOf({ operator }: Vector): Address {
  return operator as Address;
}

function signedOf({ signedMessageHex, signatureHex }: Vector) {
  return { signedMessage: Buffer.from(signedMessageHex, 'hex'), signature: Buffer.from(signatureHex, 'hex') };
}
