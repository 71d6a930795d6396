import {
  DEFAULT_BUILTIN_INSTRUCTION_UNITS,
  DEFAULT_INSTRUCTION_UNITS,
  LAMPORTS_PER_SIGNATURE,
  MICRO_LAMPORTS_PER_LAMPORT,
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
import type { WireTransaction } from './wire-transaction.ts';

const BUILTIN_PROGRAMS = new Set([
  '11111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
]);
/** Programs whose first data byte counts signatures that cost the same as the transaction's own. */
const PRECOMPILES = new Set([
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
]);

export interface TransactionFee {
  readonly totalLamports: bigint;
  readonly priorityLamports: bigint;
  /** Micro-lamports per compute unit, which getRecentPrioritizationFees reports. */
  readonly unitPriceMicroLamports: bigint;
}

/** Computes the runtime's charge to the fee payer: a fee per signature and the priority fee. */
export function transactionFee(transaction: WireTransaction): TransactionFee {
  const baseLamports =
    LAMPORTS_PER_SIGNATURE * BigInt(transaction.header.numSignerAccounts + precompileSignatures(transaction));
  const { priorityLamports, unitPriceMicroLamports } = priorityFee(transaction);
  return { totalLamports: baseLamports + priorityLamports, priorityLamports, unitPriceMicroLamports };
}

function precompileSignatures(transaction: WireTransaction): number {
  return transaction.instructions
    .filter((instruction) => PRECOMPILES.has(transaction.staticAddresses[instruction.programAddressIndex] ?? ''))
    .reduce((sum, instruction) => sum + (instruction.data[0] ?? 0), 0);
}

function priorityFee(transaction: WireTransaction) {
  if (transaction.config) {
    const { priorityFeeLamports: priorityLamports, computeUnitLimit } = transaction.config;
    const paid = priorityLamports ?? 0n;
    const unitPriceMicroLamports = computeUnitLimit
      ? (paid * MICRO_LAMPORTS_PER_LAMPORT) / BigInt(computeUnitLimit)
      : 0n;
    return { priorityLamports: paid, unitPriceMicroLamports };
  }
  let unitPriceMicroLamports = 0n;
  let limit: number | null = null;
  let allowance = 0;
  for (const instruction of transaction.instructions) {
    const program = transaction.staticAddresses[instruction.programAddressIndex] ?? '';
    allowance += BUILTIN_PROGRAMS.has(program) ? DEFAULT_BUILTIN_INSTRUCTION_UNITS : DEFAULT_INSTRUCTION_UNITS;
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
  const units = Math.min(limit ?? allowance, MAX_COMPUTE_UNIT_LIMIT);
  return { priorityLamports: priorityFeeLamports(units, unitPriceMicroLamports), unitPriceMicroLamports };
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
