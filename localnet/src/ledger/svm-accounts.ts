import { type Address, type EncodedAccount, lamports, type MaybeEncodedAccount } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { Account, LiteSvm } from 'litesvm/dist/internal.js';
import { decodeBase58, encodeBase58 } from '../wire/base58.ts';

/** Reads an account as `LiteSVM.getAccount` does, which spends nine tenths of its time on base58. */
export function readAccount(svm: LiteSVM, address: Address): MaybeEncodedAccount {
  const account = nativeSvm(svm).getAccount(toBytes(address));
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

/** Writes an account as `LiteSVM.setAccount` does. */
export function writeAccount(svm: LiteSVM, account: EncodedAccount): void {
  const { address, lamports: balance, data, programAddress, executable } = account;
  const written = new Account(balance, new Uint8Array(data), toBytes(programAddress), executable, 0n);
  nativeSvm(svm).setAccount(toBytes(address), written);
}

/** The native part of LiteSVM, which takes bytes where its wrapper takes text. */
export function nativeSvm(svm: LiteSVM): LiteSvm {
  const native: unknown = Reflect.get(svm, 'inner');
  if (native instanceof LiteSvm) return native;
  throw new Error('This LiteSVM does not keep its native part in `inner`, as release 1.5 does.');
}

function toBytes(address: Address): Uint8Array {
  const bytes = decodeBase58(address);
  if (bytes?.length === 32) return bytes;
  throw new RangeError(`${address} is no address of 32 bytes.`);
}
