import { BUILTIN_UNITS } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import {
  type AccountMeta,
  type Address,
  type Blockhash,
  type Instruction,
  isSignerRole,
  isWritableRole,
} from '@solana/kit';
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget';
import type { LiteSVM } from 'litesvm';
import { readAccount, writeAccount } from '../ledger/svm-accounts.ts';
import type { Execution, TransactionError } from '../runtime.ts';
import type { ComputeBudget } from './compute-budget.ts';
import { failedInstruction, type InstructionError, InstructionFailure, TransactionFailure } from './failure.ts';
import { type Invocation, invoke } from './invoke.ts';
import type { OuterInstruction, OuterTransaction } from './outer-transaction.ts';
import type { Chain } from './program/call.ts';
import { instructionName, runInstruction } from './program/program.ts';
import {
  addInnerInstructions,
  beginInstructions,
  budgetLeft,
  consumeUnits,
  executionOf,
  inOuterAccounts,
  instructionsLeft,
  type Progress,
  startProgress,
} from './progress.ts';

/**
 * Runs a transaction's instructions in order until one fails. Effects of a failed transaction are undone by the caller.
 * Each Squads instruction takes effect separately, and its calls of other programs are separate LiteSVM transactions.
 * So the vault signs only its own calls, and no instruction sees a role that the chain would not give it.
 */
export function runTransaction(svm: LiteSVM, transaction: OuterTransaction, budget: ComputeBudget): Execution {
  const progress = startProgress(transaction.accounts, budget);
  const err = runInstructions({ svm, progress, blockhash: transaction.blockhash }, transaction.instructions);
  return executionOf(progress, err);
}

interface Run {
  readonly svm: LiteSVM;
  readonly progress: Progress;
  readonly blockhash: Blockhash;
}

function runInstructions(run: Run, instructions: readonly OuterInstruction[]): TransactionError | null {
  let index = 0;
  try {
    while (index < instructions.length) index += runNext(run, index, instructions.slice(index));
    return null;
  } catch (error) {
    if (error instanceof TransactionFailure) return error.err;
    if (error instanceof InstructionFailure) return { InstructionError: [index, error.detail] };
    throw error;
  }
}

/** Runs the next instruction, or several that can run together. @returns their number. */
function runNext(run: Run, index: number, left: readonly OuterInstruction[]): number {
  const [next] = left;
  if (next?.programAddress === SQUADS_PROGRAM_ADDRESS) {
    runSquads(run, index, next);
    return 1;
  }
  if (next?.programAddress === COMPUTE_BUDGET_PROGRAM_ADDRESS) {
    beginInstructions(run.progress, 1);
    // Its effect is the budget, which was read before.
    consumeUnits(run.progress, BUILTIN_UNITS);
    run.progress.logs.push(`Program ${next.programAddress} invoke [1]`, `Program ${next.programAddress} success`);
    return 1;
  }
  const end = left.findIndex(({ programAddress }) => ownPrograms.has(programAddress));
  const together = left.slice(0, end === -1 ? left.length : end);
  runOthers(run, index, together);
  return together.length;
}

const ownPrograms: ReadonlySet<Address> = new Set([SQUADS_PROGRAM_ADDRESS, COMPUTE_BUDGET_PROGRAM_ADDRESS]);

function runSquads(run: Run, index: number, { accounts, data }: OuterInstruction): void {
  const { progress } = run;
  const { logs, unitsConsumed: before } = progress;
  const name = instructionName(data);
  progress.returnData = null;
  logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} invoke [1]`);
  if (name !== null) logs.push(`Program log: Instruction: ${name}`);
  try {
    beginInstructions(progress, 1);
    runInstruction(chainOf(run, index), accounts, data);
  } catch (cause) {
    if (cause instanceof InstructionFailure) {
      if (cause.message !== '') logs.push(`Program log: ${cause.message}`);
      logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} failed: ${describe(cause.detail)}`);
    }
    throw cause;
  }
  const consumed = `consumed ${progress.unitsConsumed - before} of ${progress.budget.unitLimit - before} compute units`;
  logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} ${consumed}`, `Program ${SQUADS_PROGRAM_ADDRESS} success`);
}

function describe(detail: InstructionError): string {
  return typeof detail === 'string' ? detail : `custom program error: 0x${detail.Custom.toString(16)}`;
}

function chainOf(run: Run, index: number): Chain {
  const { svm, progress } = run;
  const writable = new Set(progress.accounts.filter(({ role }) => isWritableRole(role)).map(({ address }) => address));
  return {
    unixTimestamp: svm.getClock().unixTimestamp,
    read: (address) => {
      const account = readAccount(svm, address);
      return account.exists && account.lamports > 0n ? account : null;
    },
    write: (account) => {
      if (!writable.has(account.address)) throw new Error(`${account.address} is not writable in this transaction.`);
      writeAccount(svm, account);
    },
    rentExemptLamports: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    consumeUnits: (units) => consumeUnits(progress, units),
    invoke: (caller, instructions, signers) => {
      checkPrivileges(caller, instructions, signers);
      callOthers(run, index, instructions);
    },
  };
}

/** Checks that a caller passes on only its own privileges and the signatures of its derived addresses. */
function checkPrivileges(
  caller: readonly AccountMeta[],
  instructions: readonly Instruction[],
  signers: readonly Address[],
): void {
  const roles = new Map(caller.map(({ address, role }) => [address, role]));
  for (const { address, role } of instructions.flatMap(({ accounts = [] }) => accounts)) {
    const held = roles.get(address);
    if (held === undefined) throw new InstructionFailure('MissingAccount', `${address} was not given.`);
    const maySign = !isSignerRole(role) || isSignerRole(held) || signers.includes(address);
    if (maySign && (!isWritableRole(role) || isWritableRole(held))) continue;
    throw new InstructionFailure('PrivilegeEscalation', `${address}'s signer or writable privilege was escalated.`);
  }
}

/** Runs the instructions that the outer one at `index` calls, in sequence. */
function callOthers(run: Run, index: number, instructions: readonly Instruction[]): void {
  const { svm, progress, blockhash } = run;
  const allowed = instructions.slice(0, instructionsLeft(progress));
  const called = spend(progress, invoke(svm, blockhash, allowed, budgetLeft(progress)));
  if (typeof called.err === 'string' && noSuchProgram.has(called.err)) {
    // Nothing has run. On chain, instructions before the one without a program would have run, and may fail with their
    // own error.
    if (allowed.length > 1) for (const instruction of allowed) callOthers(run, index, [instruction]);
    throw new InstructionFailure('UnsupportedProgramId', '');
  }
  progress.logs.push(...called.logs.map(oneDeeper));
  const calls = called.traces.flat().map((trace) => ({ ...trace, stackHeight: trace.stackHeight + 1 }));
  addInnerInstructions(progress, index, calls);
  beginInstructions(progress, calls.length);
  const failed = called.err === null ? null : failedInstruction(called.err);
  if (failed) throw new InstructionFailure(failed.detail, '');
  if (called.err !== null) throw new TransactionFailure(inOuterAccounts(progress, called.err, called));
  beginInstructions(progress, instructions.length - allowed.length);
}

// Errors with which the runtime rejects a transaction that calls a missing program; in a call they are the caller's
// failure.
const noSuchProgram: ReadonlySet<string> = new Set(['ProgramAccountNotFound', 'InvalidProgramForExecution']);

/** Runs instructions of other programs together, with the roles of the transaction. */
function runOthers({ svm, progress, blockhash }: Run, index: number, instructions: readonly OuterInstruction[]): void {
  const ran = spend(progress, invoke(svm, blockhash, instructions, budgetLeft(progress)));
  progress.logs.push(...ran.logs);
  for (const [position, trace] of ran.traces.entries()) {
    addInnerInstructions(progress, index + position, trace.slice(1));
    failingAt(index + position, () => beginInstructions(progress, trace.length));
  }
  const failed = ran.err === null ? null : failedInstruction(ran.err);
  if (failed) throw new TransactionFailure({ InstructionError: [index + failed.index, failed.detail] });
  if (ran.err !== null) throw new TransactionFailure(inOuterAccounts(progress, ran.err, ran));
}

function spend(progress: Progress, invocation: Invocation): Invocation {
  progress.unitsConsumed += invocation.unitsConsumed;
  progress.returnData = invocation.returnData;
  return invocation;
}

function failingAt(index: number, act: () => void): void {
  try {
    act();
  } catch (cause) {
    if (!(cause instanceof InstructionFailure)) throw cause;
    throw new TransactionFailure({ InstructionError: [index, cause.detail] }, { cause });
  }
}

function oneDeeper(line: string): string {
  return line.replace(/^(Program \w+ invoke) \[(\d+)\]$/, (_, call, depth) => `${call} [${Number(depth) + 1}]`);
}
