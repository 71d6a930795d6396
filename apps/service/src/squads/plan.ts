import {
  type Address,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getTransactionMessageSize,
  type Instruction,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayer,
  setTransactionMessageHeapSize,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  setTransactionMessagePriorityFeeLamports,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';
import type { LookupTable } from '../model/project.ts';
import type { TransactionVersion } from '../model/transaction-version.ts';
import { priorityFeeLamports } from './fee.ts';

/** Instructions that belong in one transaction, and what they take of it. */
export interface InstructionGroup {
  readonly instructions: readonly Instruction[];
  /** The most they use. */
  readonly computeUnits: number;
  /** What the runtime traces of them: themselves and all that they call. */
  readonly traceLength: number;
}

/** What a transaction may be and carry. */
export interface TransactionLimits {
  readonly version: TransactionVersion;
  /** Groups a transaction may hold; unbounded when absent. */
  readonly maxGroups?: number;
  readonly feePayer: Address;
  /** For version 0. */
  readonly lookupTables: readonly LookupTable[];
  /** For every transaction the same; what its groups need when absent. */
  readonly computeUnitLimit?: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** 32 KiB, the runtime's default, when absent. */
  readonly heapBytes?: number;
}

/** A transaction without lifetime and signatures. */
export type PlannedMessage = (V0Message | V1Message) & TransactionMessageWithFeePayer;

export interface PlannedTransaction {
  readonly message: PlannedMessage;
  /** How many of the groups, in order, it holds. */
  readonly groupCount: number;
}

/**
 * Packs groups of instructions into as few transactions as taking them in order allows. A group is never split.
 * @throws Error when a group alone is too large.
 */
export function planTransactions(groups: readonly InstructionGroup[], limits: TransactionLimits): PlannedTransaction[] {
  const empty: Draft = { message: emptyMessage(limits), groupCount: 0, computeUnits: 0, traceLength: 0 };
  const drafts: Draft[] = [];
  let current = empty;
  for (const [index, group] of groups.entries()) {
    let next = withGroup(current, group, limits);
    if (next === null && current.groupCount > 0) {
      drafts.push(current);
      next = withGroup(empty, group, limits);
    }
    if (next === null) throw tooLarge(index, group, limits);
    current = next;
  }
  if (current.groupCount > 0) drafts.push(current);
  return drafts.map((draft) => ({ message: budgeted(draft, limits), groupCount: draft.groupCount }));
}

/**
 * The message with more instructions at its end, e.g. a tip, or null where they do not fit. Their accounts stay out of
 * the lookup tables: a tip's account must be static.
 */
export function appendIfFits(message: PlannedMessage, instructions: readonly Instruction[]): PlannedMessage | null {
  const appended = appendTransactionMessageInstructions(instructions, message);
  return fits(appended) ? appended : null;
}

/** The largest transaction of a version, in bytes, signatures included: of 0 one IPv6 packet of 1,280 bytes less its headers. */
export const MAX_TRANSACTION_BYTES: Readonly<Record<TransactionVersion, number>> = { 0: 1_232, 1: 4_096 };
/** The runtime's own bound for a transaction (Agave, MAX_COMPUTE_UNIT_LIMIT). */
export const MAX_COMPUTE_UNITS = 1_400_000;

type V0Message = Extract<TransactionMessage, { version: 0 }>;
type V1Message = Extract<TransactionMessage, { version: 1 }>;

interface Draft extends PlannedTransaction {
  readonly computeUnits: number;
  readonly traceLength: number;
}

/** Accounts that a transaction may lock, looked-up ones included (Agave, MAX_TX_ACCOUNT_LOCKS). */
const MAX_ACCOUNTS = 64;
/** Instructions of a transaction, those that programs call included (Agave, MAX_INSTRUCTION_TRACE_LENGTH). */
const MAX_TRACE_LENGTH = 64;
/** The compute budget's own instructions, of which version 1 has none, and a tip. */
const OVERHEAD_TRACE_LENGTH: Readonly<Record<TransactionVersion, number>> = { 0: 4, 1: 1 };
/** The same: 150 units each. */
const OVERHEAD_COMPUTE_UNITS = 1_000;
/** What version 0 has without asking (Agave, MAX_LOADED_ACCOUNTS_DATA_SIZE_BYTES); unset, version 1 may load nothing. */
const LOADED_ACCOUNTS_BYTES = 64 * 1_024 * 1_024;

/** With every field of the budget that the finished message has, for its size. */
function emptyMessage(limits: TransactionLimits): PlannedMessage {
  const { version, feePayer, heapBytes } = limits;
  const message =
    version === 0
      ? setTransactionMessageFeePayer(feePayer, createTransactionMessage({ version }))
      : setTransactionMessageLoadedAccountsDataSizeLimit(
          LOADED_ACCOUNTS_BYTES,
          setTransactionMessageFeePayer(feePayer, createTransactionMessage({ version })),
        );
  return withBudget(setTransactionMessageHeapSize(heapBytes, message), MAX_COMPUTE_UNITS, limits);
}

function budgeted({ message, computeUnits }: Draft, limits: TransactionLimits): PlannedMessage {
  const neededUnits = Math.min(MAX_COMPUTE_UNITS, computeUnits + OVERHEAD_COMPUTE_UNITS);
  return withBudget(message, limits.computeUnitLimit ?? neededUnits, limits);
}

function withBudget(
  message: PlannedMessage,
  computeUnitLimit: number,
  { computeUnitPriceMicroLamports: price }: TransactionLimits,
): PlannedMessage {
  const limited = setTransactionMessageComputeUnitLimit(computeUnitLimit, message);
  return limited.version === 0
    ? setTransactionMessageComputeUnitPrice(price, limited)
    : setTransactionMessagePriorityFeeLamports(priorityFeeLamports(computeUnitLimit, price), limited);
}

function withGroup(
  { message, groupCount, computeUnits, traceLength }: Draft,
  group: InstructionGroup,
  limits: TransactionLimits,
): Draft | null {
  const grown = {
    message: compressed(appendTransactionMessageInstructions(group.instructions, message), limits),
    groupCount: groupCount + 1,
    computeUnits: computeUnits + group.computeUnits,
    traceLength: traceLength + group.traceLength,
  };
  // A group alone is taken for what it says it needs: that is a bound, and the runtime decides.
  const isWithin =
    grown.groupCount === 1 ||
    (grown.groupCount <= (limits.maxGroups ?? Number.POSITIVE_INFINITY) &&
      grown.computeUnits + OVERHEAD_COMPUTE_UNITS <= MAX_COMPUTE_UNITS &&
      grown.traceLength + OVERHEAD_TRACE_LENGTH[limits.version] <= MAX_TRACE_LENGTH);
  return isWithin && fits(grown.message) ? grown : null;
}

function compressed(message: PlannedMessage, { lookupTables }: TransactionLimits): PlannedMessage {
  if (message.version !== 0) return message;
  return compressTransactionMessageUsingAddressLookupTables(
    message,
    Object.fromEntries(lookupTables.map(({ address, addresses }) => [address, [...addresses]])),
  );
}

function fits(message: PlannedMessage): boolean {
  return (
    accountCount(message) <= MAX_ACCOUNTS &&
    getTransactionMessageSize(message) <= MAX_TRANSACTION_BYTES[message.version]
  );
}

function accountCount({ feePayer, instructions }: PlannedMessage): number {
  const accounts = instructions.flatMap(({ programAddress, accounts: named = [] }) => [
    programAddress,
    ...named.map(({ address }) => address),
  ]);
  return new Set([feePayer.address, ...accounts]).size;
}

function tooLarge(index: number, { instructions }: InstructionGroup, limits: TransactionLimits): Error {
  const message = compressed(appendTransactionMessageInstructions(instructions, emptyMessage(limits)), limits);
  const [bytes, maxBytes] = [getTransactionMessageSize(message), MAX_TRANSACTION_BYTES[limits.version]];
  return new Error(
    `Group ${index} of ${instructions.length} instructions takes ${bytes} bytes of ${maxBytes} and ${accountCount(message)} accounts of ${MAX_ACCOUNTS}.`,
  );
}
