import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  address,
  addressDecoder,
  addressEncoder,
  associatedTokenAddress,
  deriveAddress,
  findWalletIssue,
  isAddress,
  isOffCurveAddress,
} from '@flywheel/protocol';
import {
  type Address,
  getAddressDecoder,
  getAddressEncoder,
  getProgramDerivedAddress,
  address as kitAddress,
  isAddress as kitIsAddress,
  isOffCurveAddress as kitIsOffCurveAddress,
} from '@solana/kit';
import { findAssociatedTokenPda } from '@solana-program/token';
import fc from 'fast-check';

const P = 2n ** 255n - 19n;
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
/** Coordinates around the ends of the field, with and without the sign: the special cases of the curve. */
const edge = fc
  .tuple(fc.constantFrom(0n, 1n, P - 1n, P, P + 1n, 2n ** 255n - 1n), fc.bigInt(-3n, 3n), fc.boolean())
  .map(([from, distance, isNegative]) => {
    const value = BigInt.asUintN(255, from + distance) + (isNegative ? 2n ** 255n : 0n);
    return Uint8Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn));
  });
const anAddress = key.map((bytes) => getAddressDecoder().decode(bytes));

describe('addresses', () => {
  it('are on and off the curve as kit says', () => {
    fc.assert(
      fc.property(fc.oneof({ weight: 2, arbitrary: key }, edge), (bytes) => {
        const candidate = getAddressDecoder().decode(bytes);
        assert.equal(isOffCurveAddress(candidate), kitIsOffCurveAddress(candidate));
      }),
      { numRuns: 1_000 },
    );
  });

  it('are derived from seeds as kit derives them, also a second time', async () => {
    const seed = fc.oneof(fc.uint8Array({ maxLength: 32 }), fc.string({ maxLength: 8 }));
    await fc.assert(
      fc.asyncProperty(anAddress, fc.array(seed, { maxLength: 6 }), async (programAddress, seeds) => {
        const [expected, bump] = await getProgramDerivedAddress({ programAddress, seeds });
        for (let time = 0; time < 2; time++) {
          assert.deepEqual(deriveAddress(programAddress, seeds), { address: expected, bump });
        }
      }),
      { numRuns: 150 },
    );
    assert.throws(() => deriveAddress(SYSTEM, [new Uint8Array(33)]), /33 bytes; the most is 32/);
  });

  it('of token accounts equal those of the token program’s client', async () => {
    await fc.assert(
      fc.asyncProperty(anAddress, anAddress, anAddress, async (owner, mint, tokenProgram) => {
        const [expected] = await findAssociatedTokenPda({ owner, mint, tokenProgram });
        assert.equal(associatedTokenAddress({ owner, mint, tokenProgram }), expected);
      }),
      { numRuns: 50 },
    );
  });

  it('are encoded and decoded as kit does, also from the cache', () => {
    fc.assert(
      fc.property(key, (bytes) => {
        const expected = getAddressDecoder().decode(bytes);
        assert.equal(addressDecoder.decode(bytes), expected);
        for (let time = 0; time < 2; time++) assert.deepEqual(addressEncoder.encode(expected), bytes);
        assert.deepEqual(addressEncoder.encode(expected), new Uint8Array(getAddressEncoder().encode(expected)));
      }),
      { numRuns: 300 },
    );
    assert.throws(() => addressDecoder.decode(new Uint8Array(31)), /31/);
  });

  it('differ from other texts as kit says, with its errors', () => {
    const text = fc.oneof(
      anAddress,
      fc.string({ maxLength: 50 }),
      fc.string({ unit: fc.constantFrom('1', 'z', '0'), minLength: 30, maxLength: 46 }),
    );
    fc.assert(
      fc.property(text, (candidate) => {
        assert.equal(isAddress(candidate), kitIsAddress(candidate));
        if (kitIsAddress(candidate)) assert.equal(address(candidate), candidate);
        else
          assert.throws(
            () => address(candidate),
            errorOf(() => kitAddress(candidate)),
          );
      }),
    );
  });

  it('are a wallet’s if they are on the curve', () => {
    fc.assert(
      fc.property(anAddress, (candidate) => {
        const problem = kitIsOffCurveAddress(candidate) ? 'belongs to a program, not to a wallet.' : null;
        assert.equal(findWalletIssue(candidate), problem);
      }),
    );
    assert.equal(findWalletIssue('0x12'), 'is not an address: base58 of 32 bytes is needed.');
  });
});

const SYSTEM = '11111111111111111111111111111111' as Address;

function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('An error was expected.');
}
