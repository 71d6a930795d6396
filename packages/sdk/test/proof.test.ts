import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { parseProofMemo, proofMemo } from '@flywheel/sdk';
import fc from 'fast-check';
import golden from '../../../vectors/proof-memos.json' with { type: 'json' };

describe('proofMemo', () => {
  it('agrees with the golden memos', async () => {
    assert.ok(golden.proofMemos.length > 0);
    for (const { type, payload, memo } of golden.proofMemos) assert.equal(await proofMemo({ type, payload }), memo);
  });

  it('is what sha256sum says of type, zero byte and payload', async () => {
    // printf 'WATCH_AD\0{"adId":"123"}' | sha256sum
    assert.equal(
      await proofMemo({ type: 'WATCH_AD', payload: '{"adId":"123"}' }),
      `flywheel:v1:WATCH_AD:${sha256('WATCH_AD\0{"adId":"123"}')}`,
    );
  });

  it('hashes the payload as it came: white space and other scripts count', async () => {
    const texts = ['{"a":1}', '{ "a": 1 }', '{"name":"Zoë"}', '{"name":"Zoe\u0308"}', '{"city":"東京"}'];
    const memos = await Promise.all(texts.map((payload) => proofMemo({ type: 'A', payload })));
    assert.equal(new Set(memos).size, texts.length);
    for (const [position, payload] of texts.entries()) {
      assert.equal(parseProofMemo(memos[position] ?? '')?.hash, sha256(`A\0${payload}`));
    }
  });

  it('is read back by parseProofMemo, and nothing else is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), fc.json(), async (type, payload) => {
        const memo = await proofMemo({ type, payload });
        assert.deepEqual(parseProofMemo(memo), { type, hash: sha256(`${type}\0${payload}`) });
        for (const other of [`${memo}0`, ` ${memo}`, memo.toUpperCase(), memo.replace('v1', 'v2')]) {
          assert.equal(parseProofMemo(other), null);
        }
      }),
      { numRuns: 50 },
    );
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
