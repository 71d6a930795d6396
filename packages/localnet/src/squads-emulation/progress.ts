import { MAX_INSTRUCTION_TRACE_LENGTH } from '@flywheel/protocol';
import type { AccountMeta, Address } from '@solana/kit';
import type { Execution, InnerInstructions, TransactionError } from '../runtime.ts';
import type { ComputeBudget } from './compute-budget.ts';
import { InstructionFailure } from './failure.ts';
import type { Invocation, TracedInstruction } from './invoke.ts';

/** Progress of a transaction: the units and instructions that it has used, its logs and its inner instructions. */
export interface Progress {
  /** The transaction's accounts, to whose positions inner instructions refer. */
  readonly accounts: readonly AccountMeta[];
  readonly budget: ComputeBudget;
  readonly logs: string[];
  readonly innerInstructions: Map<number, InnerInstructions['instructions'][number][]>;
  unitsConsumed: number;
  /** Started instructions, at every depth. */
  instructionsBegun: number;
  returnData: Execution['returnData'];
}

export function startProgress(accounts: readonly AccountMeta[], budget: ComputeBudget): Progress {
  return {
    accounts,
    budget,
    logs: [],
    innerInstructions: new Map(),
    unitsConsumed: 0,
    instructionsBegun: 0,
    returnData: null,
  };
}

export function executionOf(progress: Progress, err: TransactionError | null): Execution {
  return {
    err,
    logs: progress.logs,
    unitsConsumed: BigInt(progress.unitsConsumed),
    innerInstructions: Array.from(progress.innerInstructions, ([index, instructions]) => ({ index, instructions })),
    returnData: progress.returnData,
  };
}

/** Computes the remaining budget. */
export function budgetLeft({ budget, unitsConsumed }: Progress): ComputeBudget {
  return { ...budget, unitLimit: Math.max(0, budget.unitLimit - unitsConsumed) };
}

/** Charges units. @throws InstructionFailure if the transaction has too few left. */
export function consumeUnits(progress: Progress, units: number): void {
  progress.unitsConsumed += units;
  if (progress.unitsConsumed > progress.budget.unitLimit) {
    throw new InstructionFailure('ProgramFailedToComplete', 'exceeded CUs meter');
  }
}

/**
 * Counts started instructions.
 * @throws InstructionFailure if the runtime would not start so many in one transaction.
 */
export function beginInstructions(progress: Progress, count: number): void {
  progress.instructionsBegun += count;
  if (progress.instructionsBegun > MAX_INSTRUCTION_TRACE_LENGTH) {
    const message = `The transaction begins more than ${MAX_INSTRUCTION_TRACE_LENGTH} instructions.`;
    throw new InstructionFailure('MaxInstructionTraceLengthExceeded', message);
  }
}

/** Computes how many more instructions the transaction may start. */
export function instructionsLeft({ instructionsBegun }: Progress): number {
  return MAX_INSTRUCTION_TRACE_LENGTH - instructionsBegun;
}

/** Records the inner instructions of the outer one at `index`. */
export function addInnerInstructions(progress: Progress, index: number, inner: readonly TracedInstruction[]): void {
  if (inner.length === 0) return;
  const instructions = progress.innerInstructions.get(index) ?? [];
  progress.innerInstructions.set(index, instructions);
  for (const { programAddress, accounts, data, stackHeight } of inner) {
    instructions.push({
      programIdIndex: positionOf(progress, programAddress),
      accounts: accounts.map((address) => positionOf(progress, address)),
      data: Uint8Array.from(data),
      stackHeight,
    });
  }
}

/** Converts an account index of an invocation, in an error such as InsufficientFundsForRent, to the transaction's. */
export function inOuterAccounts(
  progress: Progress,
  err: TransactionError,
  { addresses }: Invocation,
): TransactionError {
  if (typeof err === 'string') return err;
  return Object.fromEntries(
    Object.entries(err).map(([name, details]) => {
      const address = hasAccountIndex(details) ? addresses[details.account_index] : undefined;
      return [name, address === undefined ? details : { account_index: positionOf(progress, address) }];
    }),
  );
}

function positionOf({ accounts }: Progress, wanted: Address): number {
  const position = accounts.findIndex(({ address }) => address === wanted);
  if (position === -1) throw new Error(`${wanted} is none of the transaction's ${accounts.length} accounts.`);
  return position;
}

function hasAccountIndex(details: unknown): details is { account_index: number } {
  return (
    typeof details === 'object' &&
    details !== null &&
    'account_index' in details &&
    typeof details.account_index === 'number'
  );
}
