import type { WireTransaction } from './wire-transaction.ts';

/** Lamports for each signature (solana-fee-structure, LAMPORTS_PER_SIGNATURE). */
export const LAMPORTS_PER_SIGNATURE = 5000n;
const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111';
const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;
const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
const MAX_COMPUTE_UNITS = 1_400_000n;
/** Units of an instruction if the transaction sets no limit; builtins have less (SIMD-0170). */
const DEFAULT_UNITS = 200_000n;
const BUILTIN_UNITS = 3_000n;
const BUILTIN_PROGRAMS = new Set([
  '11111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  COMPUTE_BUDGET_PROGRAM,
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
    const priorityFeeLamports = transaction.config.priorityFeeLamports ?? 0n;
    const computeUnitLimit = transaction.config.computeUnitLimit ?? 0;
    const unitPriceMicroLamports =
      computeUnitLimit === 0 ? 0n : (priorityFeeLamports * MICRO_LAMPORTS_PER_LAMPORT) / BigInt(computeUnitLimit);
    return { priorityLamports: priorityFeeLamports, unitPriceMicroLamports };
  }
  let unitPriceMicroLamports = 0n;
  let limit: bigint | null = null;
  let allowance = 0n;
  for (const instruction of transaction.instructions) {
    const program = transaction.staticAddresses[instruction.programAddressIndex] ?? '';
    allowance += BUILTIN_PROGRAMS.has(program) ? BUILTIN_UNITS : DEFAULT_UNITS;
    if (program !== COMPUTE_BUDGET_PROGRAM) continue;
    const view = new DataView(instruction.data.buffer, instruction.data.byteOffset, instruction.data.byteLength);
    if (instruction.data[0] === SET_COMPUTE_UNIT_LIMIT && view.byteLength >= 5) limit = BigInt(view.getUint32(1, true));
    if (instruction.data[0] === SET_COMPUTE_UNIT_PRICE && view.byteLength >= 9) {
      unitPriceMicroLamports = view.getBigUint64(1, true);
    }
  }
  const wanted = limit ?? allowance;
  const units = wanted < MAX_COMPUTE_UNITS ? wanted : MAX_COMPUTE_UNITS;
  const microLamports = unitPriceMicroLamports * units;
  const priorityLamports = (microLamports + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
  return { priorityLamports, unitPriceMicroLamports };
}

/** Sizes of compute budget instructions by their first byte; more bytes may follow (solana-compute-budget-interface). */
const BUDGET_INSTRUCTION_BYTES: Readonly<Record<number, number>> = { 1: 5, 2: 5, 3: 9, 4: 5 };

/** Finds a compute budget instruction that is malformed, or that stands twice; null if there is none. */
export function findBudgetError({ instructions, staticAddresses, config }: WireTransaction) {
  const seen = new Set<number>();
  for (const [index, { programAddressIndex, data }] of config === null ? instructions.entries() : []) {
    if (staticAddresses[programAddressIndex] !== COMPUTE_BUDGET_PROGRAM) continue;
    const [kind = 0] = data;
    if (data.length < (BUDGET_INSTRUCTION_BYTES[kind] ?? Number.POSITIVE_INFINITY)) {
      return { InstructionError: [index, 'InvalidInstructionData'] };
    }
    if (seen.has(kind)) return { DuplicateInstruction: index };
    seen.add(kind);
  }
  return null;
}
