import { encodeBase58 } from '@flywheel/protocol';
import type { Address, Transaction } from '@solana/kit';
import { FailedTransactionMetadata, type LiteSVM, type TransactionMetadata } from 'litesvm';
import { nativeSvm } from './ledger/svm-accounts.ts';
import type { Execution, InnerInstructions, Runtime, TransactionError } from './runtime.ts';
import { toTransactionError } from './transaction-error.ts';
import { V1_FIRST_BYTE } from './wire/message-layout.ts';

const NO_SIGNATURE = new Uint8Array(64);

/** Creates a runtime on the deployed Squads program, which is loaded into the SVM like any other program. */
export function createRealProgram(svm: LiteSVM): Runtime {
  return {
    program: 'squads-v4',
    execute: (transaction) => executeInSvm(svm, transaction),
  };
}

/** Executes one transaction in the SVM, commits its effects, and reads the result. */
export function executeInSvm(svm: LiteSVM, transaction: Transaction): Execution {
  const outcome = nativeSvm(svm).sendVersionedTransaction(toWire(transaction));
  return outcome instanceof FailedTransactionMetadata
    ? describe(outcome.meta(), toTransactionError(outcome.err()))
    : describe(outcome, null);
}

/** Converts a transaction to its bytes on the wire. Kit's encoder takes as long as the SVM takes for a transfer. */
function toWire({ messageBytes, signatures }: Transaction): Uint8Array {
  const message = new Uint8Array(messageBytes);
  const parts = Object.values(signatures).map((signature) => (signature ? new Uint8Array(signature) : NO_SIGNATURE));
  // Version 1 has its signatures last, without a count; other versions never have more than a one-byte count holds.
  return Buffer.concat(
    message[0] === V1_FIRST_BYTE ? [message, ...parts] : [Buffer.of(parts.length), ...parts, message],
  );
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
