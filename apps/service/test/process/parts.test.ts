import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createParts } from '../../src/parts.ts';

describe('parts of a service', () => {
  it('stop the last one first, and are named until they have stopped, also two of one name', async () => {
    const parts = createParts();
    const seen: (readonly string[])[] = [];
    for (const name of ['database', 'deletion', 'deletion']) parts.add(name, () => seen.push(parts.running()));
    await parts.stop();
    assert.deepEqual(seen, [['deletion', 'deletion', 'database'], ['deletion', 'database'], ['database']]);
    assert.deepEqual(parts.running(), []);
  });

  it('stop after one that fails, which is still named', async () => {
    const parts = createParts();
    parts.add('database', () => undefined);
    parts.add('worker', () => Promise.reject(new Error('It hangs.')));
    await assert.rejects(parts.stop(), /It hangs/);
    assert.deepEqual(parts.running(), ['worker']);
  });
});
