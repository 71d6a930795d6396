import { ADDRESS_BYTES, encodeBase58, LOOKUP_TABLE_HEADER_BYTES, MAX_ACCOUNT_LOCKS } from '@flywheel/protocol';
import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import type { TransactionError } from '../runtime.ts';
import { isStaticWritable, type WireTransaction } from '../wire/wire-transaction.ts';

/**
 * Offsets in the header of a lookup table: slot of its last extension, first address of that extension. They are read by
 * hand because every transaction names its tables: the decoder of `@solana-program/address-lookup-table`, which turns
 * each address into base58, took 250 times as long for nine addresses (100,000 tables).
 */
const LAST_EXTENDED_SLOT_OFFSET = 12;
const LAST_EXTENDED_START_OFFSET = 20;

export interface ListedAccount {
  readonly address: Address;
  /** The address as bytes. */
  readonly key: Uint8Array;
  readonly signer: boolean;
  readonly writable: boolean;
  readonly source: 'transaction' | 'lookupTable';
}

/**
 * Lists the accounts of a transaction in the order of its instructions' indices: static, table-writable,
 * table-readonly. With an error of a table, only the static ones.
 */
export function listAccounts(
  readAccount: (address: Address) => MaybeEncodedAccount,
  slot: bigint,
  transaction: WireTransaction,
): { readonly accounts: readonly ListedAccount[]; readonly err: TransactionError | null } {
  const { header, staticAddresses, addressesOffset } = transaction;
  const message = new Uint8Array(transaction.transaction.messageBytes);
  const accounts: ListedAccount[] = staticAddresses.map((address, index) => ({
    address,
    key: keyAt(message, addressesOffset, index),
    signer: index < header.numSignerAccounts,
    writable: isStaticWritable(header, staticAddresses.length, index),
    source: 'transaction',
  }));
  const loaded: Record<'writable' | 'readonly', ListedAccount[]> = { writable: [], readonly: [] };
  for (const lookup of transaction.lookups) {
    const table = readAccount(lookup.lookupTableAddress);
    if (!table.exists) return { accounts, err: 'AddressLookupTableNotFound' };
    if (table.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) {
      return { accounts, err: 'InvalidAddressLookupTableOwner' };
    }
    const activeKey = activeKeys(table, slot);
    if (!activeKey) return { accounts, err: 'InvalidAddressLookupTableData' };
    for (const [kind, indexes] of [
      ['writable', lookup.writableIndexes],
      ['readonly', lookup.readonlyIndexes],
    ] as const) {
      for (const index of indexes) {
        const key = activeKey(index);
        if (!key) return { accounts, err: 'InvalidAddressLookupTableIndex' };
        const address = encodeBase58(key) as Address; // 32 bytes
        loaded[kind].push({ address, key, signer: false, writable: kind === 'writable', source: 'lookupTable' });
      }
    }
  }
  accounts.push(...loaded.writable, ...loaded.readonly);
  if (accounts.length > MAX_ACCOUNT_LOCKS) return { accounts, err: 'TooManyAccountLocks' };
  const isTwice = new Set(accounts.map(({ address }) => address)).size !== accounts.length;
  return { accounts, err: isTwice ? 'AccountLoadedTwice' : null };
}

function keyAt(bytes: Uint8Array, start: number, index: number): Uint8Array {
  return bytes.subarray(start + index * ADDRESS_BYTES, start + (index + 1) * ADDRESS_BYTES);
}

/** Returns addresses by index, without those added in the current slot. */
function activeKeys(table: EncodedAccount, slot: bigint): ((index: number) => Uint8Array | null) | null {
  if (table.data.length < LOOKUP_TABLE_HEADER_BYTES) return null;
  const bytes = new Uint8Array(table.data);
  const view = new DataView(bytes.buffer);
  const stored = Math.floor((bytes.length - LOOKUP_TABLE_HEADER_BYTES) / ADDRESS_BYTES);
  const active =
    slot > view.getBigUint64(LAST_EXTENDED_SLOT_OFFSET, true) ? stored : (bytes[LAST_EXTENDED_START_OFFSET] ?? 0);
  return (index) => (index < active ? keyAt(bytes, LOOKUP_TABLE_HEADER_BYTES, index) : null);
}
