import assert from 'node:assert/strict';
import { it } from 'node:test';
import { address, getAddressEncoder } from '@solana/kit';
import {
  decodeProgramAccount,
  decodeProgramData,
  SQUADS_PROGRAM_DATA_ADDRESS,
  withoutTrailingZeros,
} from '../src/index.ts';

const KEY = address('7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe');
const HEADER = [3, 0, 0, 0, ...new Uint8Array(8)];
const dataOf = (...parts: readonly Iterable<number>[]) => Uint8Array.from(parts.flatMap((part) => [...part]));

it('program data has its bytes after the header, and an upgrade authority only if a key can replace it', () => {
  const encode = (key: typeof KEY) => getAddressEncoder().encode(key);
  const decode = (authority: Iterable<number>) => decodeProgramData(dataOf(HEADER, authority, [127, 69]));
  assert.deepEqual(decode([0, ...encode(KEY)]), { upgradeAuthority: null, bytes: Uint8Array.of(127, 69) });
  assert.equal(decode([1, ...encode(KEY)])?.upgradeAuthority, KEY);
  // solana-test-validator writes the address of zeros, which no key has.
  assert.equal(decode([1, ...new Uint8Array(32)])?.upgradeAuthority, null);
  assert.equal(decodeProgramData(Uint8Array.from(HEADER)), null);
  assert.equal(decodeProgramData(dataOf([2], new Uint8Array(60))), null);
});

it('a program account names its program data', () => {
  const data = dataOf([2, 0, 0, 0], getAddressEncoder().encode(SQUADS_PROGRAM_DATA_ADDRESS));
  assert.equal(decodeProgramAccount(data), SQUADS_PROGRAM_DATA_ADDRESS);
  assert.equal(decodeProgramAccount(data.slice(1)), null);
});

it('a program is compared without its trailing zeros', () => {
  assert.deepEqual(withoutTrailingZeros(Uint8Array.of(0, 7, 0, 8, 0, 0)), Uint8Array.of(0, 7, 0, 8));
  assert.deepEqual(withoutTrailingZeros(new Uint8Array(3)), new Uint8Array());
});
