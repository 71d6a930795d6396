import {
  DEFAULT_BUILTIN_INSTRUCTION_UNITS,
  DEFAULT_INSTRUCTION_UNITS,
  LAMPORTS_PER_SIGNATURE,
  priorityFeeLamports,
} from '@flywheel/protocol';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getRequestHeapFrameInstructionDataDecoder,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitPriceInstructionDataDecoder,
  getSetLoadedAccountsDataSizeLimitInstructionDataDecoder,
  MAX_COMPUTE_UNIT_LIMIT,
  REQUEST_HEAP_FRAME_DISCRIMINATOR,
  SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR,
  SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR,
  SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT_DISCRIMINATOR,
} from '@solana-program/compute-budget';
import { BUILTIN_PROGRAMS, PRECOMPILES } from './programs.ts';
import type { WireTransaction } from './wire-transaction.ts';

/** Computes the lamports that the runtime charges the fee payer: a fee per signature and the priority fee. */
export function transactionFee(transaction: WireTransaction): bigint {
  const signatures = transaction.header.numSignerAccounts + precompileSignatures(transaction);
  return LAMPORTS_PER_SIGNATURE * BigInt(signatures) + priorityFee(transaction);
}

/** Returns the compute units that an instruction of a program adds to a transaction's default limit. */
export function defaultInstructionUnits(program: string): number {
  return BUILTIN_PROGRAMS.has(program) ? DEFAULT_BUILTIN_INSTRUCTION_UNITS : DEFAULT_INSTRUCTION_UNITS;
}

function precompileSignatures(transaction: WireTransaction): number {
  return transaction.instructions
    .filter((instruction) => PRECOMPILES.has(transaction.staticAddresses[instruction.programAddressIndex] ?? ''))
    .reduce((sum, instruction) => sum + (instruction.data[0] ?? 0), 0);
}

function priorityFee(transaction: WireTransaction): bigint {
  if (transaction.config) return transaction.config.priorityFeeLamports ?? 0n;
  let unitPriceMicroLamports = 0n;
  let limit: number | null = null;
  let allowance = 0;
  for (const instruction of transaction.instructions) {
    const program = transaction.staticAddresses[instruction.programAddressIndex] ?? '';
    allowance += defaultInstructionUnits(program);
    if (program !== COMPUTE_BUDGET_PROGRAM_ADDRESS) continue;
    // Every transaction is read here: the decoders of the client took 14 times as long (100,000 pairs of instructions).
    const view = new DataView(instruction.data.buffer, instruction.data.byteOffset, instruction.data.byteLength);
    const [kind] = instruction.data;
    if (kind === SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR && view.byteLength >= LIMIT_BYTES)
      limit = view.getUint32(1, true);
    if (kind === SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR && view.byteLength >= PRICE_BYTES) {
      unitPriceMicroLamports = view.getBigUint64(1, true);
    }
  }
  return priorityFeeLamports(Math.min(limit ?? allowance, MAX_COMPUTE_UNIT_LIMIT), unitPriceMicroLamports);
}

const LIMIT_BYTES = getSetComputeUnitLimitInstructionDataDecoder().fixedSize;
const PRICE_BYTES = getSetComputeUnitPriceInstructionDataDecoder().fixedSize;

/** Sizes of compute budget instructions by their first byte; more bytes may follow (solana-compute-budget-interface). */
const BUDGET_INSTRUCTION_BYTES: Readonly<Record<number, number>> = {
  [REQUEST_HEAP_FRAME_DISCRIMINATOR]: getRequestHeapFrameInstructionDataDecoder().fixedSize,
  [SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR]: LIMIT_BYTES,
  [SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR]: PRICE_BYTES,
  [SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT_DISCRIMINATOR]:
    getSetLoadedAccountsDataSizeLimitInstructionDataDecoder().fixedSize,
};

/** Finds a compute budget instruction that is malformed, or that stands twice; null if there is none. */
export function findBudgetError({ instructions, staticAddresses, config }: WireTransaction) {
  const seen = new Set<number>();
  for (const [index, { programAddressIndex, data }] of config === null ? instructions.entries() : []) {
    if (staticAddresses[programAddressIndex] !== COMPUTE_BUDGET_PROGRAM_ADDRESS) continue;
    const [kind = 0] = data;
    if (data.length < (BUDGET_INSTRUCTION_BYTES[kind] ?? Number.POSITIVE_INFINITY)) {
      return { InstructionError: [index, 'InvalidInstructionData'] };
    }
    if (seen.has(kind)) return { DuplicateInstruction: index };
    seen.add(kind);
  }
  return null;
}
