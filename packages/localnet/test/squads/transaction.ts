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
  /** Used only by v0. */
  readonly tables?: readonly LookupTable[];
}

/** Builds a transaction without signatures. */
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

/** Makes called programs read-only, as the runtime does and kit requires. */
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

// A v1 message without these has neither.
const V1_CONFIG = { computeUnitLimit: 1_400_000, loadedAccountsDataSizeLimit: 64 * 1024 * 1024 };

function tableContents(tables: readonly LookupTable[]): Record<Address, Address[]> {
  return Object.fromEntries(tables.map(({ address, addresses }) => [address, [...addresses]]));
}
