import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccountRole,
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  type Nonce,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingDurableNonce,
} from '@solana/kit';
import fc from 'fast-check';
import { encodeUnsignedTransaction } from '../src/index.ts';
import { addressOf } from './values.ts';

const account = fc.record({
  // Kit allows twelve signers.
  address: fc.integer({ min: 1, max: 10 }).map(addressOf),
  role: fc.constantFrom(
    AccountRole.READONLY,
    AccountRole.WRITABLE,
    AccountRole.READONLY_SIGNER,
    AccountRole.WRITABLE_SIGNER,
  ),
});
const instructions = fc.array(
  fc.record({
    programAddress: fc.integer({ min: 50, max: 60 }).map(addressOf),
    accounts: fc.option(fc.array(account, { maxLength: 8 }), { nil: undefined }),
    data: fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined }),
  }),
  { maxLength: 6 },
);

describe('encodeUnsignedTransaction', () => {
  it('writes the bytes of kit', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const message = messageOf(given.map((each) => structuredClone(each) as Instruction));
        assert.equal(encodeUnsignedTransaction(message), getBase64EncodedWireTransaction(compileTransaction(message)));
      }),
    );
  });

  it('refuses a lookup table', () => {
    const meta = {
      address: addressOf(9),
      role: AccountRole.WRITABLE,
      addressIndex: 0,
      lookupTableAddress: addressOf(70),
    };
    const message = messageOf([{ programAddress: addressOf(50), accounts: [meta] }]);
    assert.throws(() => encodeUnsignedTransaction(message), /lookup table/);
  });
});

function messageOf(given: readonly Instruction[]) {
  const empty = setTransactionMessageFeePayer(addressOf(1), createTransactionMessage({ version: 0 }));
  return setTransactionMessageLifetimeUsingDurableNonce(
    {
      nonce: addressOf(41) as string as Nonce,
      nonceAccountAddress: addressOf(42),
      nonceAuthorityAddress: addressOf(43),
    },
    appendTransactionMessageInstructions(given, empty),
  );
}
