import type { CompiledMessage } from '@flywheel/protocol';
import type { FixedSizeDecoder, Instruction, ReadonlyUint8Array } from '@solana/kit';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getRequestHeapFrameInstruction,
  getRequestHeapFrameInstructionDataDecoder,
  getSetComputeUnitLimitInstruction,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitLimitInstructionDataEncoder,
  MAX_COMPUTE_UNIT_LIMIT,
  REQUEST_HEAP_FRAME_DISCRIMINATOR,
  SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR,
} from '@solana-program/compute-budget';
import { defaultInstructionUnits } from '../wire/fees.ts';
import { CONFIG_COMPUTE_UNITS, CONFIG_FEE, CONFIG_HEAP } from '../wire/message-layout.ts';
import { type CompiledInstruction, compiledInstructions } from './outer-transaction.ts';

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
    return { unitLimit: configValue(message, CONFIG_COMPUTE_UNITS) ?? 0, heapBytes: configValue(message, CONFIG_HEAP) };
  }
  const requests = computeBudgetRequests(message);
  const limit = findRequest(requests, SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR, unitLimitDecoder);
  const heap = findRequest(requests, REQUEST_HEAP_FRAME_DISCRIMINATOR, heapFrameDecoder);
  const unitLimit = Math.min(limit?.units ?? defaultUnitLimit(message), MAX_COMPUTE_UNIT_LIMIT);
  return { unitLimit, heapBytes: heap?.bytes ?? null };
}

/** Finds the compute budget instructions of a message, with their positions. */
export function computeBudgetRequests(message: CompiledMessage): (CompiledInstruction & { position: number })[] {
  return compiledInstructions(message)
    .map((instruction, position) => ({ ...instruction, position }))
    .filter(({ programIndex }) => message.staticAccounts[programIndex] === COMPUTE_BUDGET_PROGRAM_ADDRESS);
}

/** Builds the instructions that request this budget in a v0 transaction. */
export function computeBudgetInstructions({ unitLimit, heapBytes }: ComputeBudget): Instruction[] {
  const limit = getSetComputeUnitLimitInstruction({ units: unitLimit });
  return heapBytes === null ? [limit] : [limit, getRequestHeapFrameInstruction({ bytes: heapBytes })];
}

export function unitLimitRequest(unitLimit: number): ReadonlyUint8Array {
  return getSetComputeUnitLimitInstructionDataEncoder().encode({ units: unitLimit });
}

export function isUnitLimitRequest({ data }: CompiledInstruction): boolean {
  return data[0] === SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR;
}

const unitLimitDecoder = getSetComputeUnitLimitInstructionDataDecoder();
const heapFrameDecoder = getRequestHeapFrameInstructionDataDecoder();

/** Decodes the first request of a kind; null if there is none. More bytes may follow a request. */
function findRequest<Data>(
  requests: readonly CompiledInstruction[],
  discriminator: number,
  decoder: FixedSizeDecoder<Data>,
): Data | null {
  const request = requests.find(({ data }) => data[0] === discriminator && data.length >= decoder.fixedSize);
  return request ? decoder.decode(request.data) : null;
}

function defaultUnitLimit(message: CompiledMessage): number {
  return compiledInstructions(message)
    .map(({ programIndex }) => message.staticAccounts[programIndex] ?? '')
    .map(defaultInstructionUnits)
    .reduce((sum, units) => sum + units, 0);
}

/**
 * Reads a value of the configuration. Values are in the order of the mask's bits; the priority fee has one value for
 * two bits.
 */
function configValue({ configMask, configValues }: CompiledMessage & { version: 1 }, bit: number): number | null {
  if ((configMask & bit) === 0) return null;
  let position = (configMask & CONFIG_FEE) === 0 ? 0 : 1;
  for (let lower = CONFIG_COMPUTE_UNITS; lower < bit; lower <<= 1) if ((configMask & lower) !== 0) position++;
  const entry = configValues[position];
  return entry?.kind === 'u32' ? entry.value : null;
}
