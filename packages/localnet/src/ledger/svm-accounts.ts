import { ADDRESS_BYTES, decodeBase58, encodeBase58 } from '@flywheel/protocol';
import { type Address, type EncodedAccount, lamports, type MaybeEncodedAccount } from '@solana/kit';
import type { Account, LiteSVM } from 'litesvm';
import { LiteSvm, Account as NativeAccount } from 'litesvm/dist/internal.js';

/**
 * An account at one moment, in the SVM's own form; null if it did not exist. Fields are copied from native memory only
 * when they are read, so that holding an account is cheap.
 */
export interface HeldAccount {
  readonly key: Uint8Array;
  readonly account: Account | null;
}

export function holdAccount(svm: LiteSVM, key: Uint8Array): HeldAccount {
  return { key, account: nativeSvm(svm).getAccount(key) };
}

/** Writes a held account; one that did not exist is removed. */
export function putAccount(svm: LiteSVM, { key, account }: HeldAccount): void {
  nativeSvm(svm).setAccount(
    key,
    account ?? new NativeAccount(0n, new Uint8Array(), new Uint8Array(ADDRESS_BYTES), false, 0n),
  );
}

/**
 * Writes held accounts. LiteSVM loads a program's code when the program's account is written, so programs are written
 * again after the accounts of their code.
 */
export function putAccounts(svm: LiteSVM, accounts: Iterable<HeldAccount>): void {
  const programs: Uint8Array[] = [];
  for (const held of accounts) {
    putAccount(svm, held);
    if (held.account?.executable()) programs.push(held.key);
  }
  for (const key of programs) putAccount(svm, holdAccount(svm, key));
}

/** Reads all fields of an account. */
export function decodeAccount(address: Address, { account }: HeldAccount): MaybeEncodedAccount {
  if (account === null) return { exists: false, address };
  const data = account.data();
  return {
    exists: true,
    address,
    lamports: lamports(account.lamports()),
    programAddress: encodeBase58(account.owner()) as Address, // 32 bytes
    executable: account.executable(),
    data,
    space: BigInt(data.length),
  };
}

/** Reads an account like `LiteSVM.getAccount`, which spends nine tenths of its time on base58. */
export function readAccount(svm: LiteSVM, address: Address): MaybeEncodedAccount {
  return decodeAccount(address, holdAccount(svm, addressKey(address)));
}

/** Writes an account like `LiteSVM.setAccount`. */
export function writeAccount(
  svm: LiteSVM,
  { address, lamports: balance, data, programAddress, executable }: EncodedAccount,
): void {
  const account = new NativeAccount(balance, new Uint8Array(data), addressKey(programAddress), executable, 0n);
  putAccount(svm, { key: addressKey(address), account });
}

/** Converts an address to its 32 bytes. */
export function addressKey(address: Address): Uint8Array {
  const key = decodeBase58(address);
  if (key?.length === ADDRESS_BYTES) return key;
  throw new RangeError(`${address} is not an address of ${ADDRESS_BYTES} bytes.`);
}

/** Returns the native part of LiteSVM, which takes bytes where its wrapper takes text. */
export function nativeSvm(svm: LiteSVM): LiteSvm {
  const native: unknown = Reflect.get(svm, 'inner');
  if (native instanceof LiteSvm) return native;
  throw new Error('This LiteSVM does not keep its native part in `inner`, as release 1.5 does.');
}
