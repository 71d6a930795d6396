import {
  type Address,
  appendTransactionMessageInstructions,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  type Instruction,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayer,
  type Transaction,
} from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { LookupTable } from './compile-vault-message.ts';

export interface TransactionInput {
  readonly feePayer: Address;
  readonly instructions: readonly Instruction[];
  readonly version?: 'legacy' | 0 | 1;
  /** Used by v0 only. */
  readonly tables?: readonly LookupTable[];
}

/** A transaction that nobody has signed. */
export function buildTransaction(svm: LiteSVM, input: TransactionInput): Transaction {
  const { feePayer, instructions, version = 0, tables = [] } = input;
  switch (version) {
    case 'legacy':
      return pipe(
        createTransactionMessage({ version }),
        (empty) => setTransactionMessageFeePayer(feePayer, empty),
        (paid) => svm.setTransactionMessageLifetimeUsingLatestBlockhash(paid),
        (timed) => compileTransaction(appendTransactionMessageInstructions(instructions, timed)),
      );
    case 0:
      return pipe(
        createTransactionMessage({ version }),
        (empty) => setTransactionMessageFeePayer(feePayer, empty),
        (paid) => svm.setTransactionMessageLifetimeUsingLatestBlockhash(paid),
        (timed) => appendTransactionMessageInstructions(instructions, timed),
        (whole) => compressTransactionMessageUsingAddressLookupTables(whole, tableContents(tables)),
        (compressed) => compileTransaction(compressed),
      );
    case 1:
      return pipe(
        createTransactionMessage({ version }),
        (empty) => setTransactionMessageFeePayer(feePayer, empty),
        (paid) => svm.setTransactionMessageLifetimeUsingLatestBlockhash(paid),
        (timed) => setTransactionMessageConfig(V1_CONFIG, timed),
        (limited) => compileTransaction(appendTransactionMessageInstructions(instructions, limited)),
      );
  }
}

// A v1 message that leaves these out has none of either.
const V1_CONFIG = { computeUnitLimit: 1_400_000, loadedAccountsDataSizeLimit: 64 * 1024 * 1024 };

function tableContents(tables: readonly LookupTable[]): Record<Address, Address[]> {
  return Object.fromEntries(tables.map(({ address, addresses }) => [address, [...addresses]]));
}
