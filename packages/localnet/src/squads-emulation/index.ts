import { addressEncoder, type CompiledMessage } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { getCompiledTransactionMessageDecoder, type Transaction } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { captureAccounts, restoreAccounts } from '../ledger/account-journal.ts';
import { executeInSvm } from '../real-program.ts';
import type { Execution, Runtime, TransactionError } from '../runtime.ts';
import { computeBudgetOf } from './compute-budget.ts';
import { chargeFee } from './fee.ts';
import { compiledInstructions, readTransaction, writableAddresses } from './outer-transaction.ts';
import { runTransaction } from './run-transaction.ts';

/**
 * Executes transactions as if the Squads v4 program were deployed in `svm`, where it is not. The instructions named in
 * `program/program.ts` do to accounts and lamports what the deployed program does, and fail with its codes; any other
 * fails with a log line that says so.
 *
 * What differs from the deployed program: its compute units are estimates, some percent off; its own heap has no limit;
 * programs may call one level deeper; and no account may be left with less than its rent between two instructions,
 * where the chain looks only after the last.
 *
 * Switches off LiteSVM's signature check and its memory of past transactions: both are the ledger's business, and one
 * transaction may take several in LiteSVM.
 *
 * @example
 * const runtime = createSquadsEmulation(new LiteSVM());
 * const { err } = runtime.execute(transaction);
 */
export function createSquadsEmulation(svm: LiteSVM): Runtime {
  svm.withSigverify(false).withTransactionHistory(0n);
  return { program: 'emulation', execute: (transaction) => execute(svm, transaction) };
}

/** Executes without yielding to the event loop, so that no reader sees half of a transaction. */
function execute(svm: LiteSVM, transaction: Transaction): Execution {
  if (!namesSquads(transaction)) return executeInSvm(svm, transaction);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (!callsSquads(message)) return executeInSvm(svm, transaction);
  const feePayer = captureAccounts(svm, message.staticAccounts.slice(0, 1));
  try {
    const feeError = chargeFee(svm, transaction, message);
    return feeError === null ? executeInstructions(svm, message) : refused(feeError);
  } catch (cause) {
    restoreAccounts(svm, feePayer);
    throw cause;
  }
}

function executeInstructions(svm: LiteSVM, message: CompiledMessage): Execution {
  const transaction = readTransaction(svm, message);
  const before = captureAccounts(svm, writableAddresses(transaction));
  let succeeded = false;
  try {
    const execution = runTransaction(svm, transaction, computeBudgetOf(message));
    succeeded = execution.err === null;
    return execution;
  } finally {
    if (!succeeded) restoreAccounts(svm, before);
  }
}

/** Checks for the program's address in the bytes, so that most transactions need not be decoded. */
function namesSquads({ messageBytes }: Transaction): boolean {
  return Buffer.from(messageBytes.buffer, messageBytes.byteOffset, messageBytes.length).includes(squadsProgram);
}

const squadsProgram = Buffer.from(addressEncoder.encode(SQUADS_PROGRAM_ADDRESS));

function callsSquads(message: CompiledMessage): boolean {
  return compiledInstructions(message).some(
    ({ programIndex }) => message.staticAccounts[programIndex] === SQUADS_PROGRAM_ADDRESS,
  );
}

function refused(err: TransactionError): Execution {
  return { err, logs: [], unitsConsumed: 0n, innerInstructions: [], returnData: null };
}
