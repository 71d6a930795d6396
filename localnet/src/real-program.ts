import { type Address, getTransactionEncoder, type Transaction } from '@solana/kit';
import { FailedTransactionMetadata, type LiteSVM, type TransactionMetadata } from 'litesvm';
import { nativeSvm } from './ledger/svm-accounts.ts';
import type { Execution, InnerInstructions, Runtime, TransactionError } from './runtime.ts';
import { toTransactionError } from './transaction-error.ts';
import { encodeBase58 } from './wire/base58.ts';

/** Executes on the deployed Squads program, which has been loaded into the SVM like any other program. */
export function createRealProgram(svm: LiteSVM): Runtime {
  return {
    program: 'squads-v4',
    execute: (transaction) => executeInSvm(svm, transaction),
  };
}

/** Runs one transaction in the SVM, committing its effects, and reads off what happened. */
export function executeInSvm(svm: LiteSVM, transaction: Transaction): Execution {
  const wire = new Uint8Array(getTransactionEncoder().encode(transaction));
  const outcome = nativeSvm(svm).sendVersionedTransaction(wire);
  return outcome instanceof FailedTransactionMetadata
    ? describe(outcome.meta(), toTransactionError(outcome.err()))
    : describe(outcome, null);
}

function describe(metadata: TransactionMetadata, err: TransactionError | null): Execution {
  const returned = metadata.returnData();
  const data = returned.data();
  return {
    err,
    logs: metadata.logs(),
    unitsConsumed: metadata.computeUnitsConsumed(),
    innerInstructions: innerInstructions(metadata),
    returnData: data.length === 0 ? null : { programId: encodeBase58(returned.programId()) as Address, data },
  };
}

function innerInstructions(metadata: TransactionMetadata): InnerInstructions[] {
  return metadata.innerInstructions().flatMap((inner, index) => {
    const instructions = inner.map((entry) => {
      const instruction = entry.instruction();
      return {
        programIdIndex: instruction.programIdIndex(),
        accounts: [...instruction.accounts()],
        data: instruction.data(),
        stackHeight: entry.stackHeight(),
      };
    });
    return instructions.length === 0 ? [] : [{ index, instructions }];
  });
}
