import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFinalityPace } from '../../src/solana/finality-pace.ts';

/** A pace that has seen a cluster with slots of 400 ms, each ten of them. */
function seen(untilSlot: bigint) {
  const pace = createFinalityPace();
  for (let slot = 0n; slot <= untilSlot; slot += 10n) pace.saw(slot, Number(slot) * 400);
  return pace;
}

describe('the time until a slot is finalized', () => {
  it('is unknown until finalized slots were seen for a second', () => {
    const pace = createFinalityPace();
    assert.equal(pace.untilFinalMs(5n, 0), null);
    pace.saw(10n, 0);
    pace.saw(12n, 800);
    assert.equal(pace.untilFinalMs(40n, 800), null);
    assert.equal(pace.untilFinalMs(12n, 800), 0);
    pace.saw(13n, 1_200);
    assert.equal(pace.untilFinalMs(41n, 1_200), 30 * 400);
  });

  it('goes by the pace of the slots, and by what has passed since the newest was seen', () => {
    const pace = seen(100n);
    assert.equal(pace.untilFinalMs(131n, 40_000), 33 * 400);
    assert.equal(pace.untilFinalMs(131n, 50_000), 33 * 400 - 10_000);
    assert.equal(pace.untilFinalMs(131n, 90_000), 0);
  });

  it('follows a cluster that becomes slower', () => {
    const pace = seen(1_000n);
    for (let slot = 1_010n; slot <= 1_200n; slot += 10n) pace.saw(slot, 400_000 + Number(slot - 1_000n) * 1_200);
    assert.equal(pace.untilFinalMs(1_231n, 640_000), 33 * 1_200);
  });

  it('has no end while the cluster finalizes nothing', () => {
    const pace = seen(1_000n);
    for (let atMs = 410_000; atMs <= 600_000; atMs += 10_000) pace.saw(1_000n, atMs);
    assert.equal(pace.untilFinalMs(1_031n, 600_000), Number.POSITIVE_INFINITY);
    pace.saw(1_010n, 604_000);
    assert.notEqual(pace.untilFinalMs(1_031n, 604_000), Number.POSITIVE_INFINITY);
  });

  it('does not go by a node that is behind, but by a cluster that has begun again', () => {
    const pace = seen(1_000n);
    pace.saw(900n, 400_400);
    assert.equal(pace.untilFinalMs(1_031n, 400_400), 33 * 400 - 400);
    pace.saw(3n, 470_000);
    assert.equal(pace.untilFinalMs(40n, 470_000), null);
    pace.saw(13n, 471_000);
    assert.equal(pace.untilFinalMs(44n, 471_000), 33 * 100);
  });
});
