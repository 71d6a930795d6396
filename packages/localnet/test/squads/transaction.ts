import type { LookupTable } from '@flywheel/squads';
import {
  AccountRole,
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

export interface TransactionInput {
  readonly feePayer: Address;
  readonly instructions: readonly Instruction[];
  readonly version?: 'legacy' | 0 | 1;
  /** Used by v0 only. */
  readonly tables?: readonly LookupTable[];
}

/** A transaction that nobody has signed. */
export function buildTransaction(svm: LiteSVM, input: TransactionInput): Transaction {
  const { feePayer, version = 0, tables = [] } = input;
  const instructions = withProgramsReadonly(input.instructions);
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

/** The runtime locks a program that is called for reading, whatever is asked; kit does not even write it down. */
function withProgramsReadonly(instructions: readonly Instruction[]): Instruction[] {
  const programs = new Set(instructions.map(({ programAddress }) => programAddress));
  return instructions.map(({ accounts = [], ...instruction }) => ({
    ...instruction,
    accounts: accounts.map((account) =>
      programs.has(account.address) && account.role === AccountRole.WRITABLE
        ? { ...account, role: AccountRole.READONLY }
        : account,
    ),
  }));
}

// A v1 message that leaves these out has none of either.
const V1_CONFIG = { computeUnitLimit: 1_400_000, loadedAccountsDataSizeLimit: 64 * 1024 * 1024 };

function tableContents(tables: readonly LookupTable[]): Record<Address, Address[]> {
  return Object.fromEntries(tables.map(({ address, addresses }) => [address, [...addresses]]));
}
