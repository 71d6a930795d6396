import {
  MAX_ACCOUNT_LOCKS,
  MAX_INSTRUCTION_TRACE_LENGTH,
  MAX_TRANSACTION_BYTES,
  priorityFeeLamports,
} from '@flywheel/protocol';
import {
  type Address,
  appendTransactionMessageInstructions,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  type Instruction,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageComputeUnitPrice,
  setTransactionMessageFeePayer,
  setTransactionMessageHeapSize,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  setTransactionMessagePriorityFeeLamports,
} from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import type { UnsignedMessage } from './fee.ts';
import {
  accountCount,
  type FindTable,
  findTableIn,
  type Tally,
  tallyOf,
  transactionSize,
  withInstructions,
} from './transaction-size.ts';
import type { LookupTable } from './vault-message.ts';

/**
 * Version 0 has lookup tables and 1,232 bytes; version 1 has no tables and 4,096 bytes, on clusters that activated it.
 * A wallet is never asked to sign version 1.
 */
export type TransactionVersion = UnsignedMessage['version'];

/** Instructions that belong in one transaction, and what they take of it besides bytes. */
export interface InstructionGroup extends Weight {
  readonly instructions: readonly Instruction[];
}

/** What instructions take of a transaction besides its bytes. */
export interface Weight {
  /** Upper bound of the compute units that they use. */
  readonly computeUnits: number;
  /** Count of instructions that the runtime traces: they and all that they call. */
  readonly traceLength: number;
}

/** Bounds and settings of the transactions to plan. */
export interface TransactionLimits {
  readonly version: TransactionVersion;
  /** Most groups that a transaction may hold; unbounded when absent. */
  readonly maxGroups?: number;
  readonly feePayer: Address;
  /** Used by version 0 only. */
  readonly lookupTables: readonly LookupTable[];
  /** The same limit for every transaction; the sum of its groups' units when absent. */
  readonly computeUnitLimit?: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** 32 KiB, the runtime's default, when absent. */
  readonly heapBytes?: number;
  /** Room that the last transaction of each bundle has for what is appended later; none when absent. */
  readonly bundles?: BundleRoom;
}

/** Bundles of transactions in their order. */
export interface BundleRoom {
  /** Most transactions of a bundle. */
  readonly size: number;
  /** Number of transactions that the first bundle has already. */
  readonly taken: number;
  /** Instructions, such as a tip, for which the last transaction of a full bundle has room, unless one group fills it. */
  readonly last: readonly Instruction[];
}

/** A transaction of `planTransactions`, unsigned. */
export interface PlannedTransaction {
  readonly message: UnsignedMessage;
  /** Number of consecutive groups that it holds. */
  readonly groupCount: number;
}

/**
 * Packs groups of instructions, in their order, into as few transactions as possible. It never splits a group.
 * @throws Error when one group alone is too large.
 */
export function planTransactions(groups: readonly InstructionGroup[], limits: TransactionLimits): PlannedTransaction[] {
  const empty = emptyMessage(limits);
  const blank: Draft = { groups: [], tally: tallyOf(empty), computeUnits: 0, traceLength: 0 };
  const findTable = findTableIn(limits.version === 0 ? limits.lookupTables : []);
  const drafts: Draft[] = [];
  const { size, taken, last } = limits.bundles ?? UNBUNDLED;
  let current = blank;
  let inBundle = taken;
  for (const [index, group] of groups.entries()) {
    let next = withGroup(current, group, { limits, findTable, last: inBundle === size - 1 ? last : [] });
    if (next === null && current.groups.length > 0) {
      drafts.push(current);
      // One without room is the first of the next bundle, because this one takes another transaction for the rest.
      if (inBundle < size - 1) inBundle += 1;
      else inBundle = fits(withInstructions(current.tally, last)) ? 0 : 1;
      next = withGroup(blank, group, { limits, findTable, last: inBundle === size - 1 ? last : [] });
    }
    if (next === null) throw tooLarge(index, group, withInstructions(blank.tally, group.instructions, findTable));
    current = next;
  }
  if (current.groups.length > 0) drafts.push(current);
  return drafts.map((draft) => ({ message: finished(empty, draft, limits), groupCount: draft.groups.length }));
}

/**
 * Appends instructions, such as a tip, or returns null if they do not fit. Their accounts stay out of the lookup tables:
 * a tip's account must be static.
 */
export function appendIfFits(message: UnsignedMessage, instructions: readonly Instruction[]): UnsignedMessage | null {
  const appended = appendTransactionMessageInstructions(instructions, message);
  return fits(tallyOf(appended)) ? appended : null;
}

interface Draft extends Weight {
  readonly groups: readonly InstructionGroup[];
  readonly tally: Tally;
}

const UNBUNDLED: BundleRoom = { size: Number.POSITIVE_INFINITY, taken: 0, last: [] };
/** The compute budget's own instructions, which version 1 does not need, and a tip. */
const OVERHEAD_TRACE_LENGTH: Readonly<Record<TransactionVersion, number>> = { 0: 4, 1: 1 };
/** Compute units of the same instructions, each of which takes `BUILTIN_UNITS`, rounded up. */
const OVERHEAD_COMPUTE_UNITS = 1_000;
/** Default of version 0 (Agave, MAX_LOADED_ACCOUNTS_DATA_SIZE_BYTES). Version 1 may load nothing unless it is set. */
const LOADED_ACCOUNTS_BYTES = 64 * 1_024 * 1_024;

/** Has every field of the budget that the finished message has, so that its size is right. */
function emptyMessage(limits: TransactionLimits): UnsignedMessage {
  const { version, feePayer, heapBytes } = limits;
  const message =
    version === 0
      ? setTransactionMessageFeePayer(feePayer, createTransactionMessage({ version }))
      : setTransactionMessageLoadedAccountsDataSizeLimit(
          LOADED_ACCOUNTS_BYTES,
          setTransactionMessageFeePayer(feePayer, createTransactionMessage({ version })),
        );
  return withBudget(setTransactionMessageHeapSize(heapBytes, message), MAX_COMPUTE_UNIT_LIMIT, limits);
}

function finished(
  empty: UnsignedMessage,
  { groups, computeUnits }: Draft,
  { lookupTables, computeUnitLimit, ...limits }: TransactionLimits,
): UnsignedMessage {
  const instructions = groups.flatMap((group) => group.instructions);
  const message = compressed(appendTransactionMessageInstructions(instructions, empty), lookupTables);
  const neededUnits = Math.min(MAX_COMPUTE_UNIT_LIMIT, computeUnits + OVERHEAD_COMPUTE_UNITS);
  return withBudget(message, computeUnitLimit ?? neededUnits, limits);
}

function withBudget(
  message: UnsignedMessage,
  computeUnitLimit: number,
  { computeUnitPriceMicroLamports: price }: Pick<TransactionLimits, 'computeUnitPriceMicroLamports'>,
): UnsignedMessage {
  const limited = setTransactionMessageComputeUnitLimit(computeUnitLimit, message);
  return limited.version === 0
    ? setTransactionMessageComputeUnitPrice(price, limited)
    : setTransactionMessagePriorityFeeLamports(priorityFeeLamports(computeUnitLimit, price), limited);
}

function withGroup(
  { groups, tally, computeUnits, traceLength }: Draft,
  group: InstructionGroup,
  {
    limits,
    findTable,
    last,
  }: { readonly limits: TransactionLimits; readonly findTable: FindTable; readonly last: readonly Instruction[] },
): Draft | null {
  const grown = {
    groups: [...groups, group],
    tally: withInstructions(tally, group.instructions, findTable),
    computeUnits: computeUnits + group.computeUnits,
    traceLength: traceLength + group.traceLength,
  };
  // A group that is alone may exceed the limits: its weight is an upper bound, and the runtime decides.
  const isWithin =
    grown.groups.length === 1 ||
    (grown.groups.length <= (limits.maxGroups ?? Number.POSITIVE_INFINITY) &&
      grown.computeUnits + OVERHEAD_COMPUTE_UNITS <= MAX_COMPUTE_UNIT_LIMIT &&
      grown.traceLength + OVERHEAD_TRACE_LENGTH[limits.version] <= MAX_INSTRUCTION_TRACE_LENGTH &&
      fits(withInstructions(grown.tally, last)));
  return isWithin && fits(grown.tally) ? grown : null;
}

function compressed(message: UnsignedMessage, lookupTables: readonly LookupTable[]): UnsignedMessage {
  if (message.version !== 0) return message;
  return compressTransactionMessageUsingAddressLookupTables(
    message,
    Object.fromEntries(lookupTables.map(({ address, addresses }) => [address, [...addresses]])),
  );
}

function fits(tally: Tally): boolean {
  return accountCount(tally) <= MAX_ACCOUNT_LOCKS && transactionSize(tally) <= MAX_TRANSACTION_BYTES[tally.version];
}

function tooLarge(index: number, { instructions }: InstructionGroup, tally: Tally): Error {
  return new Error(
    `Group ${index} has ${instructions.length} instructions that need ${transactionSize(tally)} bytes and ${accountCount(tally)} accounts; one transaction holds ${MAX_TRANSACTION_BYTES[tally.version]} bytes and ${MAX_ACCOUNT_LOCKS} accounts.`,
  );
}
