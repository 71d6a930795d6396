import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CompiledMessage, encodeMessage, unsignedTransaction } from '@flywheel/protocol';
import { type Address, getAddressDecoder, getCompiledTransactionMessageEncoder } from '@solana/kit';
import fc from 'fast-check';

const u8 = fc.nat(255);
const indexes = fc.array(u8, { maxLength: 8 });
const address = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes): Address => getAddressDecoder().decode(bytes));
/** Lengths whose short form has one byte or two, and data that is larger than a transaction. */
const data = fc.oneof(fc.constantFrom(0, 127, 128, 1_300), fc.nat(40)).map((bytes) => new Uint8Array(bytes).fill(7));
const header = fc.record({
  numSignerAccounts: fc.nat(3),
  numReadonlySignerAccounts: u8,
  numReadonlyNonSignerAccounts: u8,
});
const shared = { header, staticAccounts: fc.array(address, { maxLength: 12 }), lifetimeToken: address };
const instructions = fc.array(
  fc.record({ programAddressIndex: u8, accountIndices: indexes, data }, { requiredKeys: ['programAddressIndex'] }),
  { maxLength: 5 },
);
const addressTableLookups = fc.array(
  fc.record({ lookupTableAddress: address, writableIndexes: indexes, readonlyIndexes: indexes }),
  { maxLength: 3 },
);
const older = [
  fc.record({ version: fc.constant('legacy' as const), ...shared, instructions }),
  fc.record({ version: fc.constant(0 as const), ...shared, instructions }),
  fc.record({ version: fc.constant(0 as const), ...shared, instructions, addressTableLookups }),
];
const v1 = fc.record({
  version: fc.constant(1 as const),
  ...shared,
  configMask: fc.nat(0x1f),
  configValues: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('u32' as const), value: fc.nat() }),
      fc.record({ kind: fc.constant('u64' as const), value: fc.bigInt(0n, 2n ** 64n - 1n) }),
    ),
    { maxLength: 4 },
  ),
  numInstructions: u8,
  numStaticAccounts: u8,
  instructionHeaders: fc.array(
    fc.record({ programAccountIndex: u8, numInstructionAccounts: u8, numInstructionDataBytes: fc.nat(0xffff) }),
    { maxLength: 5 },
  ),
  instructionPayloads: fc.array(fc.record({ instructionAccountIndices: indexes, instructionData: data }), {
    maxLength: 5,
  }),
});
const message: fc.Arbitrary<CompiledMessage> = fc.oneof(...older, v1);

describe('encodeMessage()', () => {
  it('writes messages of every version as kit does', () => {
    fc.assert(
      fc.property(message, (compiled) => {
        assert.deepEqual(encodeMessage(compiled), getCompiledTransactionMessageEncoder().encode(compiled));
      }),
    );
  });

  it('writes a length of three bytes', () => {
    const compiled = {
      version: 0,
      header: { numSignerAccounts: 0, numReadonlySignerAccounts: 0, numReadonlyNonSignerAccounts: 0 },
      staticAccounts: [],
      lifetimeToken: '1'.repeat(32),
      instructions: [{ programAddressIndex: 0, data: new Uint8Array(16_384) }],
    } satisfies CompiledMessage;
    assert.deepEqual(encodeMessage(compiled), getCompiledTransactionMessageEncoder().encode(compiled));
  });

  it('refuses what its layout has no room for', () => {
    const [compiled] = fc.sample(v1, 1);
    if (!compiled) throw new Error('Nothing was sampled.');
    const payload = { instructionAccountIndices: [256], instructionData: new Uint8Array() };
    const instructionHeader = { programAccountIndex: 0, numInstructionAccounts: 0, numInstructionDataBytes: 65_536 };
    for (const changed of [
      { instructionPayloads: [payload] },
      { instructionHeaders: [instructionHeader] },
      { numStaticAccounts: 256 },
    ]) {
      assert.throws(() => encodeMessage({ ...compiled, ...changed }), RangeError);
    }
  });

  it('refuses a lifetime that is no blockhash', () => {
    const [compiled] = fc.sample(message, 1);
    assert.throws(() => compiled && encodeMessage({ ...compiled, lifetimeToken: '11' }), /11 is no blockhash/);
  });
});

describe('unsignedTransaction()', () => {
  it('lacks the signature of each signer', () => {
    fc.assert(
      fc.property(message, (compiled) => {
        const { messageBytes, signatures } = unsignedTransaction(compiled);
        assert.deepEqual(messageBytes, encodeMessage(compiled));
        const signers = compiled.staticAccounts.slice(0, compiled.header.numSignerAccounts);
        assert.deepEqual(signatures, Object.fromEntries(signers.map((signer) => [signer, null])));
      }),
    );
  });
});
