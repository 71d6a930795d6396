import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getTransactionMessageSize,
  type Instruction,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayer,
  setTransactionMessageHeapSize,
  setTransactionMessagePriorityFeeLamports,
} from '@solana/kit';
import fc from 'fast-check';
import type { UnsignedMessage } from '../src/fee.ts';
import { accountCount, findTableIn, tallyOf, transactionSize, withInstructions } from '../src/transaction-size.ts';
import { addressOf } from './values.ts';

const FEE_PAYER = addressOf(1);
/** Few addresses, so that instructions share them; those of one table are in the other one, too. */
const TABLES = [
  { address: addressOf(2), addresses: [10, 11, 12, 13].map(addressOf) },
  { address: addressOf(3), addresses: [13, 14, 15].map(addressOf) },
];
const PROGRAMS = [11, 20, 21].map(addressOf);
/** A program is never written to, and a fee payer is no program. */
const ACCOUNTS = [1, 10, 12, 13, 14, 15, 16, 17, 18].map(addressOf);

const account = fc.record({
  address: fc.constantFrom(...ACCOUNTS),
  role: fc.constantFrom(
    AccountRole.READONLY,
    AccountRole.READONLY,
    AccountRole.WRITABLE,
    AccountRole.READONLY_SIGNER,
    AccountRole.WRITABLE_SIGNER,
  ),
});
const programAsAccount = fc.record({
  address: fc.constantFrom(...PROGRAMS),
  role: fc.constant(AccountRole.READONLY),
});
const instruction: fc.Arbitrary<Instruction> = fc.record(
  {
    programAddress: fc.constantFrom(...PROGRAMS),
    accounts: fc.array(fc.oneof({ weight: 5, arbitrary: account }, programAsAccount), { maxLength: 8 }),
    data: fc.oneof(fc.constantFrom(0, 127, 128, 300), fc.nat(40)).map((bytes) => new Uint8Array(bytes)),
  },
  { requiredKeys: ['programAddress'] },
);
const instructions = fc.array(instruction, { maxLength: 12 });

describe('transactionSize()', () => {
  it('counts the bytes of version 0 as kit does, with lookup tables', () => {
    fc.assert(
      fc.property(instructions, instructions, fc.subarray(TABLES), (first, second, tables) => {
        const message = compressTransactionMessageUsingAddressLookupTables(
          appendTransactionMessageInstructions([...first, ...second], emptyMessage(0)),
          Object.fromEntries(tables.map(({ address, addresses }) => [address, addresses])),
        );
        const tally = withInstructions(tallyOf(emptyMessage(0)), first, findTableIn(tables));
        const grown = withInstructions(tally, second, findTableIn(tables));
        assert.equal(transactionSize(grown), getTransactionMessageSize(message));
        assert.equal(transactionSize(tallyOf(message)), getTransactionMessageSize(message));
        assert.equal(accountCount(grown), addressesOf(message).size);
      }),
    );
  });

  it('counts those of version 1, with any settings', () => {
    fc.assert(
      fc.property(instructions, instructions, fc.boolean(), (first, second, isPriced) => {
        const empty = isPriced
          ? setTransactionMessagePriorityFeeLamports(5n, setTransactionMessageHeapSize(65_536, emptyMessage(1)))
          : setTransactionMessageComputeUnitLimit(1_000, emptyMessage(1));
        const message = appendTransactionMessageInstructions([...first, ...second], empty);
        const grown = withInstructions(withInstructions(tallyOf(empty), first), second);
        assert.equal(transactionSize(grown), getTransactionMessageSize(message));
      }),
    );
  });

  it('counts an address twice in no case', () => {
    const meta = { address: addressOf(10), role: AccountRole.WRITABLE };
    const tally = withInstructions(tallyOf(emptyMessage(1)), [
      { programAddress: addressOf(20), accounts: [meta, meta, { ...meta, role: AccountRole.WRITABLE_SIGNER }] },
    ]);
    // The fee payer, the program, and the account.
    assert.equal(accountCount(tally), 3);
  });
});

function emptyMessage(version: 0): Extract<UnsignedMessage, { version: 0 }>;
function emptyMessage(version: 1): Extract<UnsignedMessage, { version: 1 }>;
function emptyMessage(version: 0 | 1): UnsignedMessage {
  return setTransactionMessageFeePayer(FEE_PAYER, createTransactionMessage({ version }));
}

function addressesOf({ feePayer, instructions: all }: UnsignedMessage): Set<Address> {
  return new Set([
    feePayer.address,
    ...all.flatMap(({ programAddress, accounts = [] }) => [programAddress, ...accounts.map(({ address }) => address)]),
  ]);
}
