import type { Address, EncodedAccount } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';

/** Reads the addresses of a lookup table; null for other accounts. */
export function lookupTableAddresses(account: EncodedAccount | null): readonly Address[] | null {
  if (account?.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) return null;
  const [kind] = account.data;
  if (kind !== LOOKUP_TABLE || account.data.length < HEADER_BYTES) return null;
  return getAddressLookupTableDecoder().decode(account.data).addresses;
}

// First byte of the account; 0 is an uninitialized table.
const LOOKUP_TABLE = 1;

const HEADER_BYTES = 56;
