import { type Address, type EncodedAccount, isSome } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { LookupTable, Multisig } from '../model/project.ts';
import { decodeMultisig, type MultisigAccount } from './accounts.ts';
import { multisigMembers, THRESHOLD } from './registration.ts';

type AccountBytes = Pick<EncodedAccount, 'address' | 'programAddress' | 'data'>;

/**
 * What is wrong with the accounts that a registration left on chain, in words, or null when they are exactly what was
 * built. A multisig with another member, a lower threshold or an authority could be emptied past both approvers.
 */
export function registrationProblem(
  onChain: { readonly multisig: AccountBytes; readonly lookupTable: AccountBytes },
  expected: { readonly multisig: Multisig; readonly createKey: Address },
): string | null {
  return (
    multisigProblem(onChain.multisig, expected) ??
    lookupTableProblem(onChain.lookupTable, expected.multisig.lookupTable)
  );
}

function multisigProblem(
  account: AccountBytes,
  { multisig, createKey }: { readonly multisig: Multisig; readonly createKey: Address },
): string | null {
  const onChain = decodeMultisig(account);
  // Squads has no option for "none" here: the zero address, which nobody can sign for, stands for it.
  const noAuthority = SYSTEM_PROGRAM_ADDRESS;
  return (
    differs('address', account.address, multisig.address) ??
    differs('create key', onChain.createKey, createKey) ??
    differs('config authority', onChain.configAuthority, noAuthority) ??
    differs('threshold', onChain.threshold, THRESHOLD) ??
    differs('time lock', onChain.timeLockSeconds, 0) ??
    differs('stale transaction index', onChain.staleTransactionIndex, 0n) ??
    differs('rent collector', onChain.rentCollector, multisig.operator) ??
    differs('members', memberList(onChain.members), memberList(multisigMembers(multisig)))
  );
}

function lookupTableProblem(account: AccountBytes, expected: LookupTable): string | null {
  if (account.programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) {
    return `The lookup table ${account.address} is owned by ${account.programAddress}.`;
  }
  const table = getAddressLookupTableDecoder().decode(account.data);
  if (isSome(table.authority)) return `The lookup table ${account.address} is not frozen.`;
  return (
    differs('lookup table', account.address, expected.address) ??
    differs('lookup table’s addresses', table.addresses.join(', '), expected.addresses.join(', '))
  );
}

function memberList(members: MultisigAccount['members']): string {
  return members
    .map(({ address, permissions }) => `${address} (${permissions})`)
    .sort()
    .join(', ');
}

function differs<T>(what: string, actual: T, expected: T): string | null {
  return actual === expected ? null : `The multisig’s ${what} is ${actual}, not ${expected}.`;
}
