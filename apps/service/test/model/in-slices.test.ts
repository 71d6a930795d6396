import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapInSlices } from '../../src/model/in-slices.ts';

const ITEMS = Array.from({ length: 20 }, (_, index) => index);

test('a list that takes long is mapped in order, and others are answered meanwhile', async () => {
  let answered = 0;
  let isMapped = false;
  const answer = () => {
    answered += 1;
    if (!isMapped) setImmediate(answer);
  };
  setImmediate(answer);
  const results = await mapInSlices(ITEMS, (item) => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return 2 * item;
  });
  isMapped = true;
  assert.deepEqual(
    results,
    ITEMS.map((item) => 2 * item),
  );
  assert.ok(answered >= 5, `${answered} answers`);
});

test('the first item that throws ends the mapping', async () => {
  const mapped: number[] = [];
  const work = mapInSlices(ITEMS, (item) => {
    mapped.push(item);
    if (item === 3) throw new RangeError('item 3');
  });
  await assert.rejects(work, /item 3/);
  assert.deepEqual(mapped, [0, 1, 2, 3]);
});
