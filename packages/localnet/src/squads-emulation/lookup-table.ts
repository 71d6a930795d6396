import { LOOKUP_TABLE_HEADER_BYTES } from '@flywheel/protocol';
import type { Address, EncodedAccount } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_DISCRIMINATOR,
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';

/** Reads the addresses of a lookup table; null for other accounts. */
export function lookupTableAddresses(account: EncodedAccount | null): readonly Address[] | null {
  if (account?.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) return null;
  const [kind] = account.data;
  if (kind !== ADDRESS_LOOKUP_TABLE_DISCRIMINATOR || account.data.length < LOOKUP_TABLE_HEADER_BYTES) return null;
  return getAddressLookupTableDecoder().decode(account.data).addresses;
}
