import { ADDRESS_BYTES, addressDecoder, LOOKUP_TABLE_HEADER_BYTES } from '@flywheel/protocol';
import type { Address, EncodedAccount } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_DISCRIMINATOR,
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
} from '@solana-program/address-lookup-table';

/** Reads the addresses of a lookup table; null for other accounts. */
export function lookupTableAddresses(account: EncodedAccount | null): readonly Address[] | null {
  if (account?.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) return null;
  const [kind] = account.data;
  if (kind !== ADDRESS_LOOKUP_TABLE_DISCRIMINATOR || account.data.length < LOOKUP_TABLE_HEADER_BYTES) return null;
  const count = Math.floor((account.data.length - LOOKUP_TABLE_HEADER_BYTES) / ADDRESS_BYTES);
  return Array.from({ length: count }, (_, i) =>
    addressDecoder.decode(account.data, LOOKUP_TABLE_HEADER_BYTES + i * ADDRESS_BYTES),
  );
}
