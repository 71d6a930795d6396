import type { TransactionError } from '../runtime.ts';

/** Texts of a validator for common errors; other errors appear with their name. */
const SENTENCES: Readonly<Record<string, string>> = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
};

/** Describes a transaction error with the text of a validator. */
export function describeError(err: TransactionError): string {
  if (typeof err === 'string') return SENTENCES[err] ?? err;
  const { InstructionError: failed } = err;
  if (!Array.isArray(failed)) return JSON.stringify(err);
  const [index, cause]: unknown[] = failed;
  const custom = typeof cause === 'object' && cause !== null && 'Custom' in cause ? Number(cause.Custom) : null;
  const reason = custom === null ? String(cause) : `custom program error: 0x${custom.toString(16)}`;
  return `Error processing Instruction ${String(index)}: ${reason}`;
}
