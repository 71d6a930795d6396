import { getCompiledTransactionMessageDecoder, type Transaction } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { captureAccounts, restoreAccounts } from '../ledger/account-journal.ts';
import { executeInSvm } from '../real-program.ts';
import type { Execution, Runtime, TransactionError } from '../runtime.ts';
import { computeBudgetOf } from './compute-budget.ts';
import { chargeFee } from './fee.ts';
import { type CompiledMessage, compiledInstructions, readTransaction, writableAddresses } from './outer-transaction.ts';
import { SQUADS_PROGRAM_ADDRESS } from './program/addresses.ts';
import { runTransaction } from './run-transaction.ts';

/**
 * Executes transactions as if the Squads v4 program were deployed in `svm`, where it is not. The program's instructions
 * take effect on its accounts as the deployed program's do, error codes included; see `program/program.ts` for which.
 * Differences: compute units count only what other programs use; the limits on heap, call depth and instructions in one
 * transaction are not those of the chain.
 *
 * Switches off LiteSVM's signature check and its memory of past transactions: both are the ledger's business, and one
 * transaction may take several in LiteSVM.
 *
 * @example
 * const runtime = createSquadsEmulation(new LiteSVM());
 * const { err } = await runtime.execute(transaction);
 */
export function createSquadsEmulation(svm: LiteSVM): Runtime {
  svm.withSigverify(false).withTransactionHistory(0n);
  return { program: 'emulation', execute: async (transaction) => execute(svm, transaction) };
}

/** Never yields to the event loop, so that nobody sees a transaction half done. */
function execute(svm: LiteSVM, transaction: Transaction): Execution {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (!callsSquads(message)) return executeInSvm(svm, transaction);
  const beforeFee = captureAccounts(svm, message.staticAccounts.slice(0, 1));
  const refusal = chargeFee(svm, transaction, message);
  if (refusal !== null) return refused(refusal);
  const outer = readTransaction(svm, message);
  const afterFee = captureAccounts(svm, writableAddresses(outer));
  try {
    const execution = runTransaction(svm, outer, computeBudgetOf(message));
    if (execution.err !== null) restoreAccounts(svm, afterFee);
    return execution;
  } catch (cause) {
    restoreAccounts(svm, afterFee);
    restoreAccounts(svm, beforeFee);
    throw cause;
  }
}

function callsSquads(message: CompiledMessage): boolean {
  return compiledInstructions(message).some(
    ({ programIndex }) => message.staticAccounts[programIndex] === SQUADS_PROGRAM_ADDRESS,
  );
}

function refused(err: TransactionError): Execution {
  return { err, logs: [], unitsConsumed: 0n, innerInstructions: [], returnData: null };
}
