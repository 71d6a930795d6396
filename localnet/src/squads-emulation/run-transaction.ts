import { type AccountMeta, type Address, type Instruction, isSignerRole, isWritableRole } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import type { Execution, InnerInstructions, TransactionError } from '../runtime.ts';
import {
  COMPUTE_BUDGET_INSTRUCTION_UNITS,
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  type ComputeBudget,
} from './compute-budget.ts';
import { failedInstruction, type InstructionError, InstructionFailure, TransactionFailure } from './failure.ts';
import { type Invocation, invoke, type TracedInstruction } from './invoke.ts';
import type { OuterInstruction, OuterTransaction } from './outer-transaction.ts';
import { SQUADS_PROGRAM_ADDRESS } from './program/addresses.ts';
import type { Chain } from './program/call.ts';
import { instructionName, runInstruction } from './program/program.ts';

/**
 * Runs a transaction's instructions in order until one fails. What ran stays done: undoing it is the caller's business.
 *
 * Each Squads instruction takes effect by itself, its calls of other programs as a LiteSVM transaction of their own; so
 * the vault signs for nothing but its own calls, and no instruction sees a role that the chain would not give it.
 */
export function runTransaction(svm: LiteSVM, transaction: OuterTransaction, budget: ComputeBudget): Execution {
  const run: Run = {
    svm,
    transaction,
    budget,
    logs: [],
    innerInstructions: new Map(),
    unitsConsumed: 0,
    returnData: null,
  };
  const err = runInstructions(run);
  return {
    err,
    logs: run.logs,
    unitsConsumed: BigInt(run.unitsConsumed),
    innerInstructions: Array.from(run.innerInstructions, ([index, instructions]) => ({ index, instructions })),
    returnData: run.returnData,
  };
}

type InnerInstruction = InnerInstructions['instructions'][number];

/** A transaction under way, and what will be told of it. */
interface Run {
  readonly svm: LiteSVM;
  readonly transaction: OuterTransaction;
  readonly budget: ComputeBudget;
  readonly logs: string[];
  readonly innerInstructions: Map<number, InnerInstruction[]>;
  unitsConsumed: number;
  returnData: Execution['returnData'];
}

function runInstructions(run: Run): TransactionError | null {
  const { instructions } = run.transaction;
  try {
    let index = 0;
    while (index < instructions.length) index += runNext(run, index, instructions.slice(index));
    return null;
  } catch (error) {
    if (error instanceof TransactionFailure) return error.err;
    throw error;
  }
}

/** Runs the first of the instructions left, or several that can run together; says how many. */
function runNext(run: Run, index: number, left: readonly OuterInstruction[]): number {
  const [next] = left;
  if (next?.programAddress === SQUADS_PROGRAM_ADDRESS) {
    runSquads(run, index, next);
    return 1;
  }
  if (next?.programAddress === COMPUTE_BUDGET_PROGRAM_ADDRESS) {
    // Its effect is the budget, which has been read.
    run.logs.push(`Program ${next.programAddress} invoke [1]`, `Program ${next.programAddress} success`);
    run.unitsConsumed += COMPUTE_BUDGET_INSTRUCTION_UNITS;
    return 1;
  }
  const end = left.findIndex(({ programAddress }) => ownPrograms.has(programAddress));
  const together = left.slice(0, end === -1 ? left.length : end);
  runOthers(run, index, together);
  return together.length;
}

const ownPrograms: ReadonlySet<Address> = new Set([SQUADS_PROGRAM_ADDRESS, COMPUTE_BUDGET_PROGRAM_ADDRESS]);

function runSquads(run: Run, index: number, { accounts, data }: OuterInstruction): void {
  const before = run.unitsConsumed;
  const name = instructionName(data);
  run.returnData = null;
  run.logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} invoke [1]`);
  if (name !== null) run.logs.push(`Program log: Instruction: ${name}`);
  try {
    runInstruction(chainOf(run, index), accounts, data);
  } catch (cause) {
    if (!(cause instanceof InstructionFailure)) throw cause;
    if (cause.message !== '') run.logs.push(`Program log: ${cause.message}`);
    run.logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} failed: ${describe(cause.detail)}`);
    throw new TransactionFailure({ InstructionError: [index, cause.detail] }, { cause });
  }
  const consumed = `consumed ${run.unitsConsumed - before} of ${run.budget.unitLimit - before} compute units`;
  run.logs.push(`Program ${SQUADS_PROGRAM_ADDRESS} ${consumed}`, `Program ${SQUADS_PROGRAM_ADDRESS} success`);
}

function describe(detail: InstructionError): string {
  return typeof detail === 'string' ? detail : `custom program error: 0x${detail.Custom.toString(16)}`;
}

function chainOf(run: Run, index: number): Chain {
  const { svm } = run;
  const writable = new Set(
    run.transaction.accounts.filter(({ role }) => isWritableRole(role)).map(({ address }) => address),
  );
  return {
    unixTimestamp: svm.getClock().unixTimestamp,
    read: (address) => {
      const account = svm.getAccount(address);
      return account.exists && account.lamports > 0n ? account : null;
    },
    write: (account) => {
      if (!writable.has(account.address)) throw new Error(`${account.address} is not writable in this transaction.`);
      svm.setAccount(account);
    },
    rentExemptLamports: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    invoke: (caller, instructions, signers) => {
      checkPrivileges(caller, instructions, signers);
      callOthers(run, index, instructions);
    },
  };
}

/** A caller can pass on no privilege that it does not have itself, but for the signatures of its derived addresses. */
function checkPrivileges(
  caller: readonly AccountMeta[],
  instructions: readonly Instruction[],
  signers: readonly Address[],
): void {
  const roles = new Map(caller.map(({ address, role }) => [address, role]));
  for (const { address, role } of instructions.flatMap(({ accounts = [] }) => accounts)) {
    const held = roles.get(address);
    if (held === undefined) throw new InstructionFailure('MissingAccount', `${address} was not given.`);
    const signs = !isSignerRole(role) || isSignerRole(held) || signers.includes(address);
    if (signs && (!isWritableRole(role) || isWritableRole(held))) continue;
    throw new InstructionFailure('PrivilegeEscalation', `${address}'s signer or writable privilege was escalated.`);
  }
}

function callOthers(run: Run, index: number, instructions: readonly Instruction[]): void {
  const called = spend(run, (budget) => invoke(run.svm, instructions, budget));
  if (typeof called.err === 'string' && noSuchProgram.has(called.err)) {
    // Nothing has run. Those before the one without a program would have, and may fail with an error of their own.
    if (instructions.length > 1) for (const instruction of instructions) callOthers(run, index, [instruction]);
    throw new InstructionFailure('UnsupportedProgramId', '');
  }
  run.logs.push(...called.logs.map(oneDeeper));
  const calls = called.traces.flat().map((trace) => ({ ...trace, stackHeight: trace.stackHeight + 1 }));
  addInner(run, index, calls);
  if (called.err === null) return;
  const failed = failedInstruction(called.err);
  if (failed) throw new InstructionFailure(failed.detail, '');
  throw new TransactionFailure(inOuterAccounts(run, called.err, called));
}

// How the runtime refuses a transaction that calls what is no program; for a call it is the caller's own failure.
const noSuchProgram: ReadonlySet<string> = new Set(['ProgramAccountNotFound', 'InvalidProgramForExecution']);

/** Runs instructions of other programs side by side, with the roles of the transaction. */
function runOthers(run: Run, index: number, instructions: readonly OuterInstruction[]): void {
  const ran = spend(run, (budget) => invoke(run.svm, instructions, budget));
  run.logs.push(...ran.logs);
  ran.traces.forEach(([, ...inner], position) => {
    addInner(run, index + position, inner);
  });
  if (ran.err === null) return;
  const failed = failedInstruction(ran.err);
  if (failed) throw new TransactionFailure({ InstructionError: [index + failed.index, failed.detail] });
  throw new TransactionFailure(inOuterAccounts(run, ran.err, ran));
}

function spend(run: Run, use: (budget: ComputeBudget) => Invocation): Invocation {
  const invocation = use({ ...run.budget, unitLimit: Math.max(0, run.budget.unitLimit - run.unitsConsumed) });
  run.unitsConsumed += invocation.unitsConsumed;
  run.returnData = invocation.returnData;
  return invocation;
}

function oneDeeper(line: string): string {
  return line.replace(/^(Program \w+ invoke) \[(\d+)\]$/, (_, call, depth) => `${call} [${Number(depth) + 1}]`);
}

function addInner(run: Run, index: number, traces: readonly TracedInstruction[]): void {
  if (traces.length === 0) return;
  const instructions = run.innerInstructions.get(index) ?? [];
  run.innerInstructions.set(index, instructions);
  for (const { programAddress, accounts, data, stackHeight } of traces) {
    instructions.push({
      programIdIndex: positionOf(run, programAddress),
      accounts: accounts.map((address) => positionOf(run, address)),
      data: Uint8Array.from(data),
      stackHeight,
    });
  }
}

function positionOf({ transaction }: Run, wanted: Address): number {
  const position = transaction.accounts.findIndex(({ address }) => address === wanted);
  if (position === -1)
    throw new Error(`${wanted} is none of the transaction's ${transaction.accounts.length} accounts.`);
  return position;
}

/** Turns an account index of what was invoked, in an error such as InsufficientFundsForRent, into the transaction's. */
function inOuterAccounts(run: Run, err: TransactionError, { addresses }: Invocation): TransactionError {
  if (typeof err === 'string') return err;
  return Object.fromEntries(
    Object.entries(err).map(([name, details]) => {
      const address = hasAccountIndex(details) ? addresses[details.account_index] : undefined;
      return [name, address === undefined ? details : { account_index: positionOf(run, address) }];
    }),
  );
}

function hasAccountIndex(details: unknown): details is { account_index: number } {
  return (
    typeof details === 'object' &&
    details !== null &&
    'account_index' in details &&
    typeof details.account_index === 'number'
  );
}
