import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isMergedIn, MAX_MERGED_EVENTS, parseMergedPayload, proofHash, writeMergedPayload } from '@flywheel/protocol';
import golden from '../../../vectors/merged-payloads.json' with { type: 'json' };

const MAX_PAYLOAD_BYTES = 65_536;

describe('writeMergedPayload', () => {
  it('agrees with the golden payloads, whatever the order of the events', () => {
    assert.ok(golden.mergedPayloads.length > 0);
    for (const { type, payloads, mergedPayload } of golden.mergedPayloads) {
      assert.equal(writeMergedPayload(type, payloads), mergedPayload);
      assert.equal(writeMergedPayload(type, payloads.toReversed()), mergedPayload);
      assert.equal(Array.isArray(JSON.parse(mergedPayload).events), true);
    }
  });

  it('writes as many events as a payload holds, and refuses one, equal ones and more', () => {
    const payloads = Array.from({ length: MAX_MERGED_EVENTS + 1 }, (_, n) => `{"n":${n}}`);
    assert.ok(writeMergedPayload('A', payloads.slice(1)).length <= MAX_PAYLOAD_BYTES);
    for (const refused of [[], ['{}'], ['{}', '{}'], payloads]) {
      assert.throws(() => writeMergedPayload('A', refused), RangeError);
    }
  });
});

describe('parseMergedPayload', () => {
  it('reads back the hashes of the golden events', () => {
    for (const { type, payloads, mergedPayload } of golden.mergedPayloads) {
      const hashes = payloads.map((payload) => proofHash({ type, payload })).sort();
      assert.deepEqual(parseMergedPayload(mergedPayload), hashes);
    }
  });

  it('refuses every golden text that is not exactly a merged payload', () => {
    assert.ok(golden.refused.length > 0);
    for (const { payload, because } of golden.refused) assert.equal(parseMergedPayload(payload), null, because);
  });
});

describe('isMergedIn', () => {
  it('finds the events that a merged payload lists, and no event of another type or text', () => {
    const merged = writeMergedPayload('WATCH_AD', ['{"adId":"123"}', '{"adId":"124"}']);
    assert.equal(isMergedIn({ type: 'WATCH_AD', payload: '{"adId":"124"}' }, merged), true);
    assert.equal(isMergedIn({ type: 'WATCH_AD', payload: '{"adId":"125"}' }, merged), false);
    assert.equal(isMergedIn({ type: 'REFERRAL', payload: '{"adId":"124"}' }, merged), false);
    assert.equal(isMergedIn({ type: 'WATCH_AD', payload: '{"adId":"124"}' }, '{"adId":"124"}'), false);
  });
});
