import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawRing, RING_COLUMNS, RING_ROWS } from '../src/ring.ts';

describe('the ring', () => {
  it('always fills the same cells', () => {
    for (const fraction of [-1, 0, 0.3, 1, 7]) {
      const rows = drawRing(fraction);
      assert.equal(rows.length, RING_ROWS);
      assert.ok(rows.every((cells) => cells.length === RING_COLUMNS));
    }
  });

  it('keeps a gap until the end, and has none then', () => {
    assert.ok(countOf(0.9999, 'track') > 0);
    assert.equal(countOf(1, 'track'), 0);
  });

  it('grows with the fraction', () => {
    const arcs = [0, 0.25, 0.5, 0.75, 1].map((fraction) => countOf(fraction, 'arc'));
    assert.deepEqual(
      arcs,
      [...arcs].sort((one, other) => one - other),
    );
    assert.equal(countOf(0, 'arc'), 0);
  });
});

function countOf(fraction: number, layer: 'arc' | 'track'): number {
  return drawRing(fraction)
    .flat()
    .filter((cell) => cell.layer === layer).length;
}
