import { address } from '@flywheel/protocol';
import {
  type Decoder,
  getStructDecoder,
  getStructEncoder,
  getU8Decoder,
  getU8Encoder,
  getU32Decoder,
  getU32Encoder,
  type Instruction,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { type CompiledInstruction, type CompiledMessage, compiledInstructions } from './outer-transaction.ts';

export const COMPUTE_BUDGET_PROGRAM_ADDRESS = address('ComputeBudget111111111111111111111111111111');

/** Limits that the instructions of a transaction share. */
export interface ComputeBudget {
  readonly unitLimit: number;
  /** null for the runtime's default heap. */
  readonly heapBytes: number | null;
}

/**
 * Reads the budget that a transaction requests: in its configuration (v1), otherwise in compute budget instructions.
 */
export function computeBudgetOf(message: CompiledMessage): ComputeBudget {
  if (message.version === 1) {
    // Missing values of a v1 message are zero; only the heap has a default.
    return { unitLimit: configValue(message, UNIT_LIMIT_BIT) ?? 0, heapBytes: configValue(message, HEAP_BYTES_BIT) };
  }
  const requests = computeBudgetRequests(message);
  const unitLimit = requestedAmount(requests, SET_UNIT_LIMIT) ?? defaultUnitLimit(message);
  return { unitLimit: Math.min(unitLimit, MAX_UNIT_LIMIT), heapBytes: requestedAmount(requests, REQUEST_HEAP_FRAME) };
}

/** Finds the compute budget instructions of a message, with their positions. */
export function computeBudgetRequests(message: CompiledMessage): (CompiledInstruction & { position: number })[] {
  return compiledInstructions(message)
    .map((instruction, position) => ({ ...instruction, position }))
    .filter(({ programIndex }) => message.staticAccounts[programIndex] === COMPUTE_BUDGET_PROGRAM_ADDRESS);
}

/** Builds the instructions that request this budget in a v0 transaction. */
export function computeBudgetInstructions({ unitLimit, heapBytes }: ComputeBudget): Instruction[] {
  const requests = [unitLimitRequest(unitLimit)];
  if (heapBytes !== null) {
    requests.push(requestEncoder.encode({ discriminator: REQUEST_HEAP_FRAME, amount: heapBytes }));
  }
  return requests.map((data) => ({ programAddress: COMPUTE_BUDGET_PROGRAM_ADDRESS, data }));
}

export function unitLimitRequest(unitLimit: number): ReadonlyUint8Array {
  return requestEncoder.encode({ discriminator: SET_UNIT_LIMIT, amount: unitLimit });
}

export function isUnitLimitRequest({ data }: CompiledInstruction): boolean {
  return data[0] === SET_UNIT_LIMIT;
}

/** Units of one compute budget instruction itself (agave, the builtin's DEFAULT_COMPUTE_UNITS). */
export const COMPUTE_BUDGET_INSTRUCTION_UNITS = 150;

const MAX_UNIT_LIMIT = 1_400_000;

// Discriminators of the Compute Budget program's instructions.
const REQUEST_HEAP_FRAME = 1;
const SET_UNIT_LIMIT = 2;

const requestEncoder = getStructEncoder([
  ['discriminator', getU8Encoder()],
  ['amount', getU32Encoder()],
]);

const requestDecoder: Decoder<{ discriminator: number; amount: number }> = getStructDecoder([
  ['discriminator', getU8Decoder()],
  ['amount', getU32Decoder()],
]);

const REQUEST_BYTES = 5;

function requestedAmount(requests: readonly CompiledInstruction[], discriminator: number): number | null {
  const request = requests.find(({ data }) => data[0] === discriminator && data.length >= REQUEST_BYTES);
  return request ? requestDecoder.decode(request.data).amount : null;
}

// Units of an instruction if the transaction sets no limit (SIMD-0170); builtin programs have far less.
const DEFAULT_UNITS = 200_000;
const DEFAULT_BUILTIN_UNITS = 3_000;
const builtinPrograms: ReadonlySet<string> = new Set([COMPUTE_BUDGET_PROGRAM_ADDRESS, SYSTEM_PROGRAM_ADDRESS]);

function defaultUnitLimit(message: CompiledMessage): number {
  return compiledInstructions(message)
    .map(({ programIndex }) => message.staticAccounts[programIndex] ?? '')
    .map((program) => (builtinPrograms.has(program) ? DEFAULT_BUILTIN_UNITS : DEFAULT_UNITS))
    .reduce((sum, units) => sum + units, 0);
}

// Bits of a v1 message's config mask (SIMD-0385): 0 and 1 priority fee together, 2 units, 3 loaded bytes, 4 heap.
const PRIORITY_FEE_BITS = 0b00011;
const UNIT_LIMIT_BIT = 0b00100;
const HEAP_BYTES_BIT = 0b10000;

/**
 * Reads a value of the configuration. Values are in the order of the mask's bits; the priority fee has one value for
 * two bits.
 */
function configValue({ configMask, configValues }: CompiledMessage & { version: 1 }, bit: number): number | null {
  if ((configMask & bit) === 0) return null;
  let position = (configMask & PRIORITY_FEE_BITS) === 0 ? 0 : 1;
  for (let lower = UNIT_LIMIT_BIT; lower < bit; lower <<= 1) if ((configMask & lower) !== 0) position++;
  const entry = configValues[position];
  return entry?.kind === 'u32' ? entry.value : null;
}
