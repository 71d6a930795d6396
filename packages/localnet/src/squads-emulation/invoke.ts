import { createHash } from 'node:crypto';
import { addressDecoder, BUILTIN_UNITS, unsignedTransaction } from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransactionMessage,
  createTransactionMessage,
  downgradeRoleToReadonly,
  type Instruction,
  lamports,
  pipe,
  type ReadonlyUint8Array,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { emptyAccount } from '../ledger/account-journal.ts';
import { writeAccount } from '../ledger/svm-accounts.ts';
import { executeInSvm } from '../real-program.ts';
import type { Execution, TransactionError } from '../runtime.ts';
import { type ComputeBudget, computeBudgetInstructions } from './compute-budget.ts';
import { failedInstruction } from './failure.ts';

/** One executed instruction, with addresses and depth: 1 for the given ones, more for those they called. */
export interface TracedInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
  readonly stackHeight: number;
}

/** Result of instructions that ran together. */
export interface Invocation {
  /** Error whose instruction indices count the given instructions. */
  readonly err: TransactionError | null;
  /** Accounts that an account index in `err` refers to. */
  readonly addresses: readonly Address[];
  readonly logs: readonly string[];
  readonly unitsConsumed: number;
  readonly returnData: Execution['returnData'];
  /** For each given instruction, up to a failed one: itself, then the instructions that it called. */
  readonly traces: readonly (readonly TracedInstruction[])[];
}

/**
 * Runs instructions as a separate LiteSVM transaction, all or none. It trusts the signer roles. A stand-in pays the
 * fee, so that no account becomes a signer or writable beyond the instructions' roles.
 */
export function invoke(
  svm: LiteSVM,
  blockhash: Blockhash,
  instructions: readonly Instruction[],
  budget: ComputeBudget,
): Invocation {
  const requests = computeBudgetInstructions(withOwnUnits(budget));
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(standIn, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 0n }, paid),
    (timed) => appendTransactionMessageInstructions([...requests, ...withReadonlyPrograms(instructions)], timed),
  );
  const compiled = compileTransactionMessage(message);
  const { staticAccounts } = compiled;
  const execution = withStandIn(svm, () => executeInSvm(svm, unsignedTransaction(compiled)));
  const failed = execution.err === null ? null : failedInstruction(execution.err);
  const failedPosition = failed && failed.index - requests.length;
  const addressAt = (index: number) => staticAccounts[index] ?? standIn;
  const ran = failedPosition === null ? instructions : instructions.slice(0, failedPosition + 1);
  return {
    err: failed ? { InstructionError: [failedPosition, failed.detail] } : execution.err,
    addresses: staticAccounts,
    logs: execution.logs.slice(requests.length * LOG_LINES_PER_REQUEST),
    unitsConsumed: Math.max(0, Number(execution.unitsConsumed) - requests.length * BUILTIN_UNITS),
    returnData: execution.returnData,
    traces: ran.map((instruction, position) => [
      traceOf(instruction),
      ...innerTraces(execution, requests.length + position, addressAt),
    ]),
  };
}

/** Adds the units of the budget request itself. */
function withOwnUnits(budget: ComputeBudget): ComputeBudget {
  const requestCount = computeBudgetInstructions(budget).length;
  return { ...budget, unitLimit: budget.unitLimit + requestCount * BUILTIN_UNITS };
}

// The stand-in's address; it has no private key, and exists only during a call of `invoke`.
const standIn = addressDecoder.decode(createHash('sha256').update('fee payer of the Squads emulation').digest());

// Far more than the fee of the maximum of signatures.
const STAND_IN_LAMPORTS = lamports(1_000_000_000n);

// The lines `invoke` and `success`.
const LOG_LINES_PER_REQUEST = 2;

function withStandIn<Result>(svm: LiteSVM, run: () => Result): Result {
  writeAccount(svm, { ...emptyAccount(standIn), lamports: STAND_IN_LAMPORTS });
  try {
    return run();
  } finally {
    writeAccount(svm, emptyAccount(standIn));
  }
}

/** Makes called programs read-only, as the runtime does and kit requires. */
function withReadonlyPrograms(instructions: readonly Instruction[]): Instruction[] {
  const programs = new Set(instructions.map(({ programAddress }) => programAddress));
  return instructions.map(({ accounts = [], ...instruction }) => ({
    ...instruction,
    accounts: accounts.map(({ address, role }) => ({
      address,
      role: programs.has(address) ? downgradeRoleToReadonly(role) : role,
    })),
  }));
}

function traceOf({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): TracedInstruction {
  return { programAddress, accounts: accounts.map(({ address }) => address), data, stackHeight: 1 };
}

function innerTraces(execution: Execution, index: number, addressAt: (index: number) => Address): TracedInstruction[] {
  const inner = execution.innerInstructions.find((entry) => entry.index === index)?.instructions ?? [];
  return inner.map(({ programIdIndex, accounts, data, stackHeight }) => ({
    programAddress: addressAt(programIdIndex),
    accounts: accounts.map(addressAt),
    data,
    stackHeight,
  }));
}
