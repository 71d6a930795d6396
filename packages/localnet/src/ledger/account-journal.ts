import { UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import type { Address, EncodedAccount } from '@solana/kit';
import { lamports } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { Account, LiteSVM } from 'litesvm';
import { addressKey, type HeldAccount, holdAccount, putAccounts } from './svm-accounts.ts';

/** Accounts at one moment, by address. */
export type CapturedAccounts = ReadonlyMap<Address, HeldAccount>;

/** Captures accounts, so that they can be restored. */
export function captureAccounts(svm: LiteSVM, addresses: Iterable<Address>): CapturedAccounts {
  return new Map(Array.from(addresses, (address) => [address, holdAccount(svm, addressKey(address))]));
}

/** Restores captured accounts; those that did not exist are removed. */
export function restoreAccounts(svm: LiteSVM, captured: CapturedAccounts): void {
  const all = [...captured.values()];
  const changed = all.filter(({ key, account }) => !sameAccount(account, holdAccount(svm, key).account));
  // An upgrade changes the code of a program and not the program's account, with which LiteSVM loads the code.
  putAccounts(svm, changed.some(isOfLoader) ? all : changed);
}

const LOADER_KEY = addressKey(UPGRADEABLE_LOADER_ADDRESS);

function isOfLoader({ account }: HeldAccount): boolean {
  return account !== null && Buffer.compare(account.owner(), LOADER_KEY) === 0;
}

/** Creates an account without lamports, which removes the existing one when it is written. */
export function emptyAccount(address: Address): EncodedAccount {
  return {
    address,
    lamports: lamports(0n),
    data: new Uint8Array(),
    programAddress: SYSTEM_PROGRAM_ADDRESS,
    executable: false,
    space: 0n,
  };
}

/** Compares every field of an account that a program can see. */
function sameAccount(a: Account | null, b: Account | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.lamports() === b.lamports() &&
    a.executable() === b.executable() &&
    Buffer.compare(a.owner(), b.owner()) === 0 &&
    Buffer.compare(a.data(), b.data()) === 0
  );
}
