import { UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import { type Address, lamports } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { Execution, Runtime, TransactionError } from '../runtime.ts';
import { transactionFee } from '../wire/fees.ts';
import { type WireTransaction, withLifetime } from '../wire/wire-transaction.ts';
import { type CapturedAccounts, emptyAccount, restoreAccounts } from './account-journal.ts';
import { type ListedAccount, listAccounts } from './account-list.ts';
import { advancedNonce, type Bank, checkLifetime, type Lifetime } from './lifetime.ts';
import type { Store } from './store/store.ts';
import type { TransactionRecord } from './store/transaction-record.ts';
import {
  decodeAccount,
  type HeldAccount,
  holdAccount,
  putAccounts,
  readAccount,
  writeAccount,
} from './svm-accounts.ts';
import { costUnits, loadedBytes } from './transaction-cost.ts';
import { transactionMeta } from './transaction-meta.ts';

/** Errors with which a transaction still enters a block and pays: it was loaded, or its loading failed. */
const CHARGED_ERRORS = new Set([
  'InstructionError',
  'InsufficientFundsForRent',
  'ProgramAccountNotFound',
  'InvalidProgramForExecution',
  'MaxLoadedAccountsDataSizeExceeded',
  'UnbalancedTransaction',
]);

/** Result of a transaction. `refused` means that no block could contain it: nothing changed and nothing is recorded. */
export type Attempt =
  | {
      readonly kind: 'refused';
      readonly err: TransactionError;
      readonly logs: readonly string[];
      readonly unitsConsumed: bigint;
      /** Its accounts, and their states, which a simulation shows. */
      readonly accounts: readonly ListedAccount[];
      readonly states: readonly HeldAccount[];
    }
  | {
      readonly kind: 'executed';
      readonly record: TransactionRecord;
      readonly execution: Execution;
      readonly accounts: readonly ListedAccount[];
      /** Bytes of the accounts that it loaded. */
      readonly loadedBytes: number;
      /** All accounts before, and the writable ones after. */
      readonly before: CapturedAccounts;
      readonly after: CapturedAccounts;
    };

interface Deps extends Bank {
  readonly runtime: Runtime;
  readonly store: Pick<Store, 'summary'>;
}

/** Checks a transaction against a bank and executes it. Its effects stay; the caller records or undoes them. */
export function attemptTransaction(
  deps: Deps,
  transaction: WireTransaction,
  options: { readonly checkLifetime: boolean },
): Attempt {
  const { svm, runtime, slots, bankSlot } = deps;
  const { accounts, err } = listAccounts((address) => readAccount(svm, address), bankSlot, transaction);
  const before = capture(svm, accounts);
  const statesBefore = accounts.map(({ address, key }) => before.get(address) ?? { key, account: null });
  const refuse = (reason: TransactionError, logs: readonly string[] = [], unitsConsumed = 0n): Attempt => {
    return { kind: 'refused', err: reason, logs, unitsConsumed, accounts, states: statesBefore };
  };
  if (err !== null) return refuse(err);
  const lifetime: Lifetime | null = options.checkLifetime ? checkLifetime(deps, transaction) : { kind: 'blockhash' };
  if (!lifetime) return refuse('BlockhashNotFound');
  if (options.checkLifetime && isProcessed(deps, transaction)) return refuse('AlreadyProcessed');
  const totalLamports = transactionFee(transaction);
  const allLoaded = loadedBytes(svm, transaction, accounts, statesBefore);
  const limit = transaction.config === null ? allLoaded : (transaction.config.loadedBytesLimit ?? 0);
  const loaded = Math.min(allLoaded, limit);
  // Programs see the blockhash of the previous slot, which gives nonces their next value. LiteSVM shows them the
  // transaction's own blockhash, so the transaction gets that of the previous slot.
  const executed = withStandIns(svm, missingPrograms(transaction, before), () =>
    runtime.execute(withLifetime(transaction, slots.visibleBlockhash(bankSlot))),
  );
  const execution = isProgramMissing(executed, transaction, before) ? { ...executed, err: PROGRAM_MISSING } : executed;
  const writable = accounts.filter((account) => account.writable);
  if (execution.err !== null) {
    restoreAccounts(
      svm,
      new Map([...before].filter(([address]) => writable.some((account) => account.address === address))),
    );
    if (!isCharged(execution.err) || cannotPay(svm, statesBefore[0], totalLamports)) {
      return refuse(execution.err, execution.logs, execution.unitsConsumed);
    }
    chargeFee(svm, transaction.feePayer, totalLamports);
    if (lifetime.kind === 'nonce') advanceNonce(deps, lifetime.account.address);
  }
  const after = capture(svm, writable);
  // LiteSVM may load the code of a program before the transaction that closes it removes the code.
  if (before.has(UPGRADEABLE_LOADER_ADDRESS)) putAccounts(svm, after.values());
  const readMint = (mint: Address) => {
    const held = after.get(mint) ?? before.get(mint);
    return held ? decodeAccount(mint, held) : readAccount(svm, mint);
  };
  const meta = transactionMeta(
    {
      accounts,
      before: statesBefore,
      after: accounts.map(({ address, key }) => after.get(address) ?? before.get(address) ?? { key, account: null }),
      execution,
      feeLamports: totalLamports,
      costUnits: costUnits(transaction, accounts, { unitsConsumed: execution.unitsConsumed, loadedBytes: loaded }),
    },
    readMint,
  );
  const record = {
    signature: transaction.signature,
    slot: bankSlot,
    blockTime: slots.unixTimestamp(),
    err: execution.err,
    wire: transaction.bytes,
    meta,
  };
  return { kind: 'executed', record, execution, accounts, loadedBytes: loaded, before, after };
}

/** Returns true if the bank, or an earlier one, contains the transaction. */
function isProcessed({ store, bankSlot }: Deps, { signature }: WireTransaction): boolean {
  const known = store.summary(signature);
  return known !== null && known.slot <= bankSlot;
}

/** Lists the programs of a transaction's instructions that do not exist. */
function missingPrograms({ instructions, staticAddresses }: WireTransaction, held: CapturedAccounts): Address[] {
  const programs = instructions.flatMap(({ programAddressIndex }) => staticAddresses[programAddressIndex] ?? []);
  return programs.filter((program) => held.get(program)?.account === null);
}

/**
 * Executes while an account that is no program stands in for each missing one: LiteSVM aborts the process at a program
 * that it has loaded and that is gone, as after a fork or in an older bank.
 */
function withStandIns<T>(svm: LiteSVM, missing: readonly Address[], execute: () => T): T {
  for (const address of missing) writeAccount(svm, { ...emptyAccount(address), lamports: lamports(1n) });
  try {
    return execute();
  } finally {
    for (const address of missing) writeAccount(svm, emptyAccount(address));
  }
}

const PROGRAM_MISSING = 'ProgramAccountNotFound';

/** Detects a missing program, for which LiteSVM has the same error as for an account that is not a program. */
function isProgramMissing(
  { err }: Execution,
  { instructions, staticAddresses }: WireTransaction,
  held: CapturedAccounts,
) {
  if (err !== 'InvalidProgramForExecution') return false;
  const programs = instructions.flatMap(({ programAddressIndex }) => staticAddresses[programAddressIndex] ?? []);
  const unfit = programs.map((program) => held.get(program)?.account ?? null).find((found) => !found?.executable());
  return unfit === null;
}

function capture(svm: LiteSVM, accounts: readonly ListedAccount[]): CapturedAccounts {
  return new Map(accounts.map(({ address, key }) => [address, holdAccount(svm, key)]));
}

/** Returns true if the fee would leave the fee payer with too little for its rent, so that no block takes it. */
function cannotPay(svm: LiteSVM, feePayer: HeldAccount | undefined, feeLamports: bigint): boolean {
  const account = feePayer?.account ?? null;
  if (account === null) return true;
  const left = account.lamports() - feeLamports;
  return left < 0n || (left > 0n && left < svm.minimumBalanceForRentExemption(BigInt(account.data().length)));
}

function isCharged(err: TransactionError): boolean {
  return CHARGED_ERRORS.has(typeof err === 'string' ? err : (Object.keys(err)[0] ?? ''));
}

function chargeFee(svm: LiteSVM, feePayer: Address, feeLamports: bigint): void {
  const payer = readAccount(svm, feePayer);
  if (!payer.exists) return;
  const left = payer.lamports > feeLamports ? payer.lamports - feeLamports : 0n;
  writeAccount(svm, { ...payer, lamports: lamports(left) });
}

function advanceNonce(bank: Bank, address: Address): void {
  // Read again: the nonce account may also have paid the fee.
  const account = readAccount(bank.svm, address);
  if (account.exists) writeAccount(bank.svm, advancedNonce(bank, account));
}
