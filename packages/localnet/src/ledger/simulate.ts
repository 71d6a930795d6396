import { decodeProgramAccount, UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSVAR_CLOCK_ADDRESS, SYSVAR_SLOT_HASHES_ADDRESS } from '@solana/sysvars';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import type { LiteSVM } from 'litesvm';
import type { Runtime } from '../runtime.ts';
import type { WireTransaction } from '../wire/wire-transaction.ts';
import { restoreAccounts } from './account-journal.ts';
import { listAccounts } from './account-list.ts';
import { type Attempt, attemptTransaction } from './attempt.ts';
import type { BankState } from './bank-state.ts';
import type { Slots } from './slots.ts';
import type { Store } from './store/store.ts';
import { holdAccount, putAccounts } from './svm-accounts.ts';
import type { Versions } from './versions.ts';

/** Sysvars that change with the slot, and that programs can read without naming them. */
export const SYSVARS = [SYSVAR_CLOCK_ADDRESS, SYSVAR_SLOT_HASHES_ADDRESS] as const;

export interface ChainDeps {
  readonly svm: LiteSVM;
  readonly runtime: Runtime;
  readonly slots: Slots;
  readonly versions: Versions;
  readonly store: Store;
}

/** Executes a transaction in the bank of a slot and restores all accounts. */
export function simulateInBank(
  { svm, runtime, slots, versions, store }: ChainDeps,
  bank: BankState,
  transaction: WireTransaction,
  options: { readonly checkLifetime: boolean },
): Attempt {
  const named = bank.slot < slots.current() ? accountsToSetBack(bank, transaction) : [];
  const earlier = Array.from(named, (address) => versions.earlier(bank.slot, address)).filter((held) => held !== null);
  const newest = earlier.map(({ key }) => holdAccount(svm, key));
  putAccounts(svm, earlier);
  try {
    const attempt = attemptTransaction({ svm, runtime, slots, store, bankSlot: bank.slot }, transaction, options);
    if (attempt.kind === 'executed') {
      restoreAccounts(svm, new Map([...attempt.before].filter(([address]) => attempt.after.has(address))));
    }
    return attempt;
  } finally {
    putAccounts(svm, newest);
  }
}

/**
 * Lists every account that can affect the result: those of the transaction, its tables, its programs' code, the
 * sysvars.
 */
function accountsToSetBack(bank: BankState, transaction: WireTransaction): Iterable<Address> {
  const listed = listAccounts(bank.account, bank.slot, transaction);
  const named = listed.accounts.map(({ address }) => address);
  const code = named.flatMap((address) => codeOf(bank, address));
  const tables = transaction.lookups.map(({ lookupTableAddress }) => lookupTableAddress);
  const slotHashes = named.includes(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) ? [SYSVAR_SLOT_HASHES_ADDRESS] : [];
  return new Set([...named, ...code, ...tables, SYSVAR_CLOCK_ADDRESS, ...slotHashes]);
}

function codeOf(bank: BankState, address: Address): Address[] {
  const account = bank.account(address);
  if (!account.exists || account.programAddress !== UPGRADEABLE_LOADER_ADDRESS) return [];
  const code = decodeProgramAccount(account.data);
  return code === null ? [] : [code];
}
