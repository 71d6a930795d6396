import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '@flywheel/solana-rpc';
import fc from 'fast-check';
import { stringifyJson } from '../src/json.ts';

const U64_MAX = 2n ** 64n - 1n;

test('JSON text equals that of JSON.stringify', () => {
  fc.assert(
    fc.property(fc.object({ withNullPrototype: false, values: [fc.jsonValue(), fc.constant(undefined)] }), (value) => {
      assert.equal(stringifyJson(value), JSON.stringify(value));
    }),
  );
});

test('integers keep all digits in both directions', () => {
  const amounts = fc.array(fc.bigInt({ min: -U64_MAX, max: U64_MAX }));
  fc.assert(
    fc.property(amounts, (written) => {
      const text = stringifyJson({ written });
      assert.equal(text, `{"written":[${written.join(',')}]}`);
      const exact = (amount: bigint) => (Number.isSafeInteger(Number(amount)) ? Number(amount) : amount);
      assert.deepEqual(parseJson(text), { written: written.map(exact) });
    }),
  );
  assert.deepEqual(parseJson('[9007199254740991, 9007199254740993, 1.5, 1e300]'), [
    9007199254740991,
    9007199254740993n,
    1.5,
    1e300,
  ]);
});
