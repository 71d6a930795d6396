import type { Address } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_DISCRIMINATOR,
  type AddressLookupTable,
  type AddressLookupTableArgs,
  getAddressLookupTableDecoder,
  getAddressLookupTableEncoder,
} from '@solana-program/address-lookup-table';
import { alterMultisig } from './altering-proxy.ts';

/**
 * Shows what a service could have made of the registration's addresses before the wallet's transaction lands, which then fails: a
 * multisig in which it has approved a batch and then made the wallet a member, and a table that it cannot fill or freeze: only the
 * wallet can.
 */
export function registeredLies({
  wallet,
  stranger,
}: {
  readonly wallet: Address;
  readonly stranger: Address;
}): readonly {
  readonly alter: (account: Buffer) => Buffer;
  readonly expected: RegExp;
}[] {
  return [
    {
      alter: alterMultisig((multisig) => ({ ...multisig, threshold: 1 })),
      expected: /: The multisig would need 1 votes, not 2\.$/,
    },
    {
      alter: alterMultisig((multisig) => ({ ...multisig, configAuthority: stranger })),
      expected: new RegExp(`: ${stranger} alone could change the multisig\\.$`),
    },
    {
      alter: alterMultisig((multisig) => ({ ...multisig, timeLock: 60 })),
      expected: /: The multisig would execute only 60 s after the votes\.$/,
    },
    {
      alter: alterMultisig((multisig) => ({ ...multisig, rentCollector: stranger })),
      expected: new RegExp(`: The rent of ended batches would go to ${stranger}, not to the operator \\w+\\.$`),
    },
    {
      alter: alterTable((table) => ({ ...table, authority: wallet })),
      expected: /: The lookup table \w+ is not frozen\.$/,
    },
    {
      alter: alterTable(({ addresses, ...table }) => ({ ...table, addresses: [...addresses, stranger] })),
      expected: /: The lookup table \w+ has other addresses than you signed\.$/,
    },
    {
      alter: alterTable((table) => ({ ...table, addresses: [] })),
      expected: /: The lookup table \w+ has other addresses than you signed\.$/,
    },
  ];
}

function alterTable(change: (table: AddressLookupTable) => AddressLookupTableArgs): (account: Buffer) => Buffer {
  return (account) => {
    if (account.readUInt32LE() !== ADDRESS_LOOKUP_TABLE_DISCRIMINATOR) return account;
    return Buffer.from(getAddressLookupTableEncoder().encode(change(getAddressLookupTableDecoder().decode(account))));
  };
}
