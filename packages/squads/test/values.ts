import { type Address, getAddressDecoder } from '@solana/kit';
import fc from 'fast-check';

// Random values of every type of Squads' accounts and instructions, as the package represents them.

/** Creates plain objects, so that they are strictly equal to decoded ones. */
export function record<T>(model: { readonly [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

/** Returns the address whose 32 bytes all have this value. */
export function addressOf(byte: number): Address {
  return getAddressDecoder().decode(new Uint8Array(32).fill(byte));
}

export const anyAddress: fc.Arbitrary<Address> = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => getAddressDecoder().decode(bytes));
export const u8 = fc.integer({ min: 0, max: 0xff });
export const u16 = fc.integer({ min: 0, max: 0xffff });
export const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
export const u64 = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });
const i64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
export const bytes = fc.uint8Array({ maxLength: 40 });
const addresses = fc.array(anyAddress, { maxLength: 4 });
export const optionalAddress = fc.option(anyAddress);

/** Bytes of a memo, which must be text for the other implementation. */
export const memo = fc.option(
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => new TextEncoder().encode(text)),
);

export const member = record({ key: anyAddress, permissions: record({ mask: u8 }) });

export const vaultMessage = record({
  numSigners: u8,
  numWritableSigners: u8,
  numWritableNonSigners: u8,
  accountKeys: addresses,
  instructions: fc.array(record({ programIdIndex: u8, accountIndexes: bytes, data: bytes }), { maxLength: 4 }),
  addressTableLookups: fc.array(record({ accountKey: anyAddress, writableIndexes: bytes, readonlyIndexes: bytes }), {
    maxLength: 3,
  }),
});

const period = fc.constantFrom('OneTime', 'Day', 'Week', 'Month').map((__kind) => ({ __kind }));

export const configAction = fc.oneof(
  record({ __kind: fc.constant('AddMember'), newMember: member }),
  record({ __kind: fc.constant('RemoveMember'), oldMember: anyAddress }),
  record({ __kind: fc.constant('ChangeThreshold'), newThreshold: u16 }),
  record({ __kind: fc.constant('SetTimeLock'), newTimeLock: u32 }),
  record({
    __kind: fc.constant('AddSpendingLimit'),
    createKey: anyAddress,
    vaultIndex: u8,
    mint: anyAddress,
    amount: u64,
    period,
    members: addresses,
    destinations: addresses,
  }),
  record({ __kind: fc.constant('RemoveSpendingLimit'), spendingLimit: anyAddress }),
  record({ __kind: fc.constant('SetRentCollector'), newRentCollector: optionalAddress }),
);

const proposalStatus = fc.oneof(
  record({
    __kind: fc.constantFrom('Draft', 'Active', 'Rejected', 'Approved', 'Executed', 'Cancelled'),
    timestamp: i64,
  }),
  fc.constant({ __kind: 'Executing' }),
);

/** Arbitrary accounts by the account's name. */
export const accounts = {
  ProgramConfig: record({
    authority: anyAddress,
    multisigCreationFee: u64,
    treasury: anyAddress,
    reserved: fc.uint8Array({ minLength: 64, maxLength: 64 }),
  }),
  Multisig: record({
    createKey: anyAddress,
    configAuthority: anyAddress,
    threshold: u16,
    timeLock: u32,
    transactionIndex: u64,
    staleTransactionIndex: u64,
    rentCollector: optionalAddress,
    bump: u8,
    members: fc.array(member, { maxLength: 4 }),
  }),
  Proposal: record({
    multisig: anyAddress,
    transactionIndex: u64,
    status: proposalStatus,
    bump: u8,
    approved: addresses,
    rejected: addresses,
    cancelled: addresses,
  }),
  Batch: record({
    multisig: anyAddress,
    creator: anyAddress,
    index: u64,
    bump: u8,
    vaultIndex: u8,
    vaultBump: u8,
    size: u32,
    executedTransactionIndex: u32,
  }),
  VaultBatchTransaction: record({ bump: u8, ephemeralSignerBumps: bytes, message: vaultMessage }),
  ConfigTransaction: record({
    multisig: anyAddress,
    creator: anyAddress,
    index: u64,
    bump: u8,
    actions: fc.array(configAction, { maxLength: 4 }),
  }),
};
