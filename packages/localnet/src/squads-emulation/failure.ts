import type { TransactionError } from '../runtime.ts';

/** Error of one instruction in JSON-RPC: a name, or `{ Custom: code }`. */
export type InstructionError = string | { readonly Custom: number };

/** Ends the transaction with an error of the current instruction; the runner adds the instruction's index. */
export class InstructionFailure extends Error {
  readonly detail: InstructionError;

  constructor(detail: InstructionError, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'InstructionFailure';
    this.detail = detail;
  }
}

/** Ends the transaction with this error. */
export class TransactionFailure extends Error {
  readonly err: TransactionError;

  constructor(err: TransactionError, options?: ErrorOptions) {
    super(`The transaction fails with ${JSON.stringify(err)}.`, options);
    this.name = 'TransactionFailure';
    this.err = err;
  }
}

/** Finds the failed instruction of a transaction and its error; null if the error is not an instruction's. */
export function failedInstruction(err: TransactionError): { index: number; detail: InstructionError } | null {
  if (typeof err === 'string' || !Array.isArray(err.InstructionError)) return null;
  const [index, detail]: unknown[] = err.InstructionError;
  if (typeof index !== 'number' || !isInstructionError(detail)) return null;
  return { index, detail };
}

function isInstructionError(detail: unknown): detail is InstructionError {
  if (typeof detail === 'string') return true;
  return typeof detail === 'object' && detail !== null && 'Custom' in detail && typeof detail.Custom === 'number';
}
