import type { LookupTable, VaultTransactionMessage } from '@flywheel/squads';
import { type AccountMeta, AccountRole, type Address } from '@solana/kit';
import { isSignerIndex, isStaticWritableIndex } from '../../../src/squads-emulation/program/vault-message.ts';

/**
 * Lists the accounts that the execution of a stored message needs. `pdas` are signed by the program, not by the
 * transaction.
 */
export function remainingAccounts(
  message: VaultTransactionMessage,
  pdas: readonly Address[],
  tables: readonly LookupTable[],
): AccountMeta[] {
  const statics = message.accountKeys.map((address, index) => {
    const signs = isSignerIndex(message, index) && !pdas.includes(address);
    return { address, role: roleOf(signs, isStaticWritableIndex(message, index)) };
  });
  const loaded = message.addressTableLookups.flatMap(({ accountKey: table, writableIndexes, readonlyIndexes }) => {
    const addresses = tables.find(({ address }) => address === table)?.addresses ?? [];
    // A damaged message may use an index that the table does not have.
    const at = (index: number) => addresses[index] ?? table;
    return [
      ...Array.from(writableIndexes, (index) => ({ address: at(index), role: AccountRole.WRITABLE })),
      ...Array.from(readonlyIndexes, (index) => ({ address: at(index), role: AccountRole.READONLY })),
    ];
  });
  return [
    ...message.addressTableLookups.map(({ accountKey }) => ({ address: accountKey, role: AccountRole.READONLY })),
    ...statics,
    ...loaded,
  ];
}

function roleOf(signs: boolean, writable: boolean): AccountRole {
  if (signs) return writable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return writable ? AccountRole.WRITABLE : AccountRole.READONLY;
}
