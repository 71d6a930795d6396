import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { lamports } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { readAccount, writeAccount } from './svm-accounts.ts';

const SYSTEM_PROGRAM = '11111111111111111111111111111111' as Address;

/** Accounts as they were at one moment, by address. */
export type CapturedAccounts = ReadonlyMap<Address, MaybeEncodedAccount>;

/** Remembers accounts so that they can be put back. */
export function captureAccounts(svm: LiteSVM, addresses: Iterable<Address>): Map<Address, MaybeEncodedAccount> {
  return new Map(Array.from(addresses, (address) => [address, readAccount(svm, address)]));
}

/** Puts accounts back as they were captured; those that did not exist are removed. */
export function restoreAccounts(svm: LiteSVM, captured: CapturedAccounts): void {
  for (const [address, before] of captured) {
    const now = readAccount(svm, address);
    if (!sameAccount(before, now)) writeAccount(svm, before.exists ? before : emptyAccount(address));
  }
}

/** Whether two readings of an account are equal in every field a program can see. */
export function sameAccount(a: MaybeEncodedAccount, b: MaybeEncodedAccount): boolean {
  if (!a.exists || !b.exists) return a.exists === b.exists;
  return (
    a.lamports === b.lamports &&
    a.programAddress === b.programAddress &&
    a.executable === b.executable &&
    Buffer.compare(new Uint8Array(a.data), new Uint8Array(b.data)) === 0
  );
}

/** An account without lamports: writing it removes whatever stood at the address. */
export function emptyAccount(address: Address): EncodedAccount {
  return {
    address,
    lamports: lamports(0n),
    data: new Uint8Array(),
    programAddress: SYSTEM_PROGRAM,
    executable: false,
    space: 0n,
  };
}
