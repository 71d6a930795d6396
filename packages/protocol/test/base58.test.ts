import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getBase58Decoder, getBase58Encoder } from '@solana/kit';
import fc from 'fast-check';
import { decodeBase58, encodeBase58 } from '../src/base58.ts';

const zeros = fc.integer({ min: 0, max: 5 }).map((count) => new Uint8Array(count));
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 0, maxLength: 100 }),
  fc
    .tuple(zeros, fc.uint8Array({ minLength: 0, maxLength: 64 }))
    .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part]))),
  fc.integer({ min: 0, max: 70 }).map((count) => new Uint8Array(count).fill(0xff)),
);

test("base58 text equals kit's, and is read back", () => {
  fc.assert(
    fc.property(bytes, (input) => {
      const text = encodeBase58(input);
      assert.equal(text, getBase58Decoder().decode(input));
      assert.deepEqual(decodeBase58(text), input);
    }),
    { numRuns: 2_000 },
  );
});

test("base58 bytes equal kit's", () => {
  const text = fc.string({
    unit: fc.constantFrom(...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'),
    maxLength: 100,
  });
  fc.assert(
    fc.property(text, (input) => {
      assert.deepEqual(decodeBase58(input), new Uint8Array(getBase58Encoder().encode(input)));
    }),
    { numRuns: 2_000 },
  );
});

test('a character outside the alphabet is rejected', () => {
  for (const text of ['0', 'O', 'I', 'l', 'é', '1111 ', 'abc0', '一']) assert.equal(decodeBase58(text), null, text);
});
