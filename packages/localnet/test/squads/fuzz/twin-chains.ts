import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address, EncodedAccount, Instruction } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { executeInSvm } from '../../../src/real-program.ts';
import type { Execution, Runtime, TransactionError } from '../../../src/runtime.ts';
import { failedInstruction } from '../../../src/squads-emulation/failure.ts';
import { createSquadsEmulation } from '../../../src/squads-emulation/index.ts';
import type { TestAccounts } from '../accounts.ts';
import { createSvm, type SvmOptions } from '../setup.ts';
import { buildTransaction, type TransactionInput } from '../transaction.ts';

/** The same chain twice: with the real Squads program and with the emulation. */
export interface TwinChains {
  /** Chain of the emulation, for reads. */
  readonly svm: LiteSVM;
  advanceSeconds(seconds: bigint): void;
  /** Sends one transaction to both chains. @returns the mismatches. */
  send(input: TransactionInput): Promise<Comparison>;
}

export interface Comparison {
  readonly emulated: Execution;
  readonly real: Execution;
  readonly mismatches: readonly string[];
  /** True if both failed with errors that differ for a known reason. */
  readonly isKnownDifference: boolean;
}

export function createTwinChains(accounts: TestAccounts, programFile: string, options: SvmOptions): TwinChains {
  const realSvm = createSvm(accounts, options);
  realSvm.addProgramFromFile(SQUADS_PROGRAM_ADDRESS, programFile);
  const svm = createSvm(accounts, options);
  const runtime: Runtime = createSquadsEmulation(svm);
  const touched = new Set<Address>();
  return {
    svm,
    advanceSeconds: (seconds) => {
      for (const each of [realSvm, svm]) {
        const clock = each.getClock();
        clock.unixTimestamp += seconds;
        each.setClock(clock);
      }
    },
    send: async (input) => {
      for (const address of addressesIn(input)) touched.add(address);
      const transaction = buildTransaction(svm, input);
      const real = executeInSvm(realSvm, transaction);
      const emulated = runtime.execute(transaction);
      const mismatches = mismatchesOf({ real, emulated, realSvm, svm, touched });
      return { emulated, real, mismatches, isKnownDifference: isKnownDifference(real.err, emulated.err) };
    },
  };
}

function addressesIn({ feePayer, instructions }: TransactionInput): Address[] {
  const named = (instruction: Instruction) => (instruction.accounts ?? []).map(({ address }) => address);
  return [feePayer, ...instructions.flatMap(named)];
}

interface Outcome {
  readonly real: Execution;
  readonly emulated: Execution;
  readonly realSvm: LiteSVM;
  readonly svm: LiteSVM;
  readonly touched: ReadonlySet<Address>;
}

function mismatchesOf({ real, emulated, realSvm, svm, touched }: Outcome): string[] {
  const mismatches: string[] = [];
  const compare = (what: string, expected: unknown, actual: unknown) => {
    const [wanted, got] = [show(expected), show(actual)];
    if (wanted !== got) mismatches.push(`${what}: real ${wanted}, emulated ${got}`);
  };
  if (!isKnownDifference(real.err, emulated.err)) compare('error', real.err, emulated.err);
  if (real.err === null) compare('inner instructions', real.innerInstructions, emulated.innerInstructions);
  for (const address of touched) {
    const [wanted, got] = [accountOf(realSvm, address), accountOf(svm, address)];
    // Only the real chain has the program's account.
    if (wanted?.executable) continue;
    compare(`lamports of ${address}`, wanted?.lamports, got?.lamports);
    compare(`owner of ${address}`, wanted?.programAddress, got?.programAddress);
    compare(`data of ${address}`, hex(wanted), hex(got));
  }
  return mismatches;
}

/**
 * Detects a known difference. The emulation checks rent after every instruction, the chain after the last, so a
 * transaction that fails otherwise on the chain may fail for rent before. The real program has 32 KiB of heap: a
 * damaged message that announces more exhausts it before the program notices the missing bytes.
 */
function isKnownDifference(real: TransactionError | null, emulated: TransactionError | null): boolean {
  if (real === null || emulated === null) return false;
  if (typeof emulated === 'object' && 'InsufficientFundsForRent' in emulated) return show(real) !== show(emulated);
  const [wanted, got] = [failedInstruction(real), failedInstruction(emulated)];
  return wanted?.index === got?.index && wanted?.detail === 'ProgramFailedToComplete' && got?.detail === 'BorshIoError';
}

function accountOf(svm: LiteSVM, address: Address): EncodedAccount | null {
  const account = svm.getAccount(address);
  return account.exists && account.lamports > 0n ? account : null;
}

function hex(account: EncodedAccount | null): string | undefined {
  return account ? Buffer.from(account.data).toString('hex') : undefined;
}

function show(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner) => {
      if (typeof inner === 'bigint') return `${inner}n`;
      return inner instanceof Uint8Array ? Buffer.from(inner).toString('hex') : inner;
    }) ?? 'nothing'
  );
}
