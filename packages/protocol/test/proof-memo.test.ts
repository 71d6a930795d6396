import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { formatProofMemo, parseProofMemo, proofMemo, proofMemoBytes } from '@flywheel/protocol';
import fc from 'fast-check';
import golden from '../../../vectors/proof-memos.json' with { type: 'json' };

describe('proofMemo', () => {
  it('agrees with the golden memos', async () => {
    assert.ok(golden.proofMemos.length > 0);
    for (const { type, payload, memo } of golden.proofMemos) assert.equal(proofMemo({ type, payload }), memo);
  });

  it('contains what sha256sum prints for type, zero byte and payload', async () => {
    // printf 'WATCH_AD\0{"adId":"123"}' | sha256sum
    assert.equal(
      proofMemo({ type: 'WATCH_AD', payload: '{"adId":"123"}' }),
      `flywheel:v1:WATCH_AD:${sha256('WATCH_AD\0{"adId":"123"}')}`,
    );
  });

  it('hashes the payload exactly as sent, white space and Unicode forms included', async () => {
    const texts = ['{"a":1}', '{ "a": 1 }', '{"name":"Zoë"}', '{"name":"Zoe\u0308"}', '{"city":"東京"}'];
    const memos = await Promise.all(texts.map((payload) => proofMemo({ type: 'A', payload })));
    assert.equal(new Set(memos).size, texts.length);
    for (const [position, payload] of texts.entries()) {
      assert.equal(parseProofMemo(memos[position] ?? '')?.hash, sha256(`A\0${payload}`));
    }
  });
});

describe('parseProofMemo', () => {
  it('reads back every memo that proofMemo writes, and no altered one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), fc.json(), async (type, payload) => {
        const memo = proofMemo({ type, payload });
        assert.deepEqual(parseProofMemo(memo), { type, hash: sha256(`${type}\0${payload}`) });
        assert.equal(memo.length, proofMemoBytes(type));
        for (const other of [`${memo}0`, ` ${memo}`, memo.toUpperCase(), memo.replace('v1', 'v2')]) {
          assert.equal(parseProofMemo(other), null);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('accepts any type that is not empty, colons and line breaks included', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (type, payload) => {
        const memo = { type, hash: sha256(`${type}\0${payload}`) };
        assert.deepEqual(parseProofMemo(formatProofMemo(memo)), memo);
      }),
    );
    assert.equal(parseProofMemo(formatProofMemo({ type: '', hash: sha256('') })), null);
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
