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
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';
import type { LookupTable } from '../model/project.ts';

/** What a transaction may be and carry. */
export interface TransactionLimits {
  /** 1 is for what the operator alone signs, where the cluster takes it: no lookup tables, 4,096 bytes. */
  readonly version: 0;
  readonly maxBytes: number;
  /** Groups a transaction may hold; unbounded when absent. */
  readonly maxGroups?: number;
  readonly feePayer: Address;
  readonly lookupTables: readonly LookupTable[];
  readonly computeUnitLimit: number;
  readonly computeUnitPriceMicroLamports: bigint;
  /** 32 KiB, the runtime's default, when absent. */
  readonly heapBytes?: number;
}

/** A transaction without lifetime and signatures. */
export type PlannedMessage = Extract<TransactionMessage, { version: 0 }> & TransactionMessageWithFeePayer;

export interface PlannedTransaction {
  readonly message: PlannedMessage;
  /** How many of the groups, in order, it holds. */
  readonly groupCount: number;
}

/**
 * Packs groups of instructions into as few transactions as taking them in order allows. A group is never split.
 * @throws Error when a group alone is too large.
 */
export function planTransactions(
  groups: readonly (readonly Instruction[])[],
  limits: TransactionLimits,
): PlannedTransaction[] {
  const empty: PlannedTransaction = { message: emptyMessage(limits), groupCount: 0 };
  const planned: PlannedTransaction[] = [];
  let current = empty;
  for (const [index, group] of groups.entries()) {
    let next = withGroup(current, group, limits);
    if (next === null && current.groupCount > 0) {
      planned.push(current);
      next = withGroup(empty, group, limits);
    }
    if (next === null) throw tooLarge(index, group, limits);
    current = next;
  }
  return current.groupCount === 0 ? planned : [...planned, current];
}

/**
 * The message with more instructions at its end, e.g. a tip, or null where they do not fit. Their accounts stay out of
 * the lookup tables: a tip's account must be static.
 */
export function appendIfFits(
  message: PlannedMessage,
  instructions: readonly Instruction[],
  limits: Pick<TransactionLimits, 'maxBytes'>,
): PlannedMessage | null {
  const appended: PlannedMessage = appendTransactionMessageInstructions(instructions, message);
  return getTransactionMessageSize(appended) <= limits.maxBytes ? appended : null;
}

/** The largest v0 transaction, in bytes, signatures included: one IPv6 packet of 1,280 bytes less its headers. */
export const MAX_V0_TRANSACTION_BYTES = 1_232;

function emptyMessage(limits: TransactionLimits): PlannedMessage {
  const message = setTransactionMessageFeePayer(limits.feePayer, createTransactionMessage({ version: limits.version }));
  return setTransactionMessageHeapSize(
    limits.heapBytes,
    setTransactionMessageComputeUnitPrice(
      limits.computeUnitPriceMicroLamports,
      setTransactionMessageComputeUnitLimit(limits.computeUnitLimit, message),
    ),
  );
}

function withGroup(
  { message, groupCount }: PlannedTransaction,
  group: readonly Instruction[],
  limits: TransactionLimits,
): PlannedTransaction | null {
  if (groupCount >= (limits.maxGroups ?? Number.POSITIVE_INFINITY)) return null;
  const grown = compressed(appendTransactionMessageInstructions(group, message), limits);
  return getTransactionMessageSize(grown) <= limits.maxBytes ? { message: grown, groupCount: groupCount + 1 } : null;
}

function compressed(message: PlannedMessage, limits: TransactionLimits): PlannedMessage {
  return compressTransactionMessageUsingAddressLookupTables(
    message,
    Object.fromEntries(limits.lookupTables.map(({ address, addresses }) => [address, [...addresses]])),
  );
}

function tooLarge(index: number, group: readonly Instruction[], limits: TransactionLimits): Error {
  const bytes = getTransactionMessageSize(
    compressed(appendTransactionMessageInstructions(group, emptyMessage(limits)), limits),
  );
  return new Error(`Group ${index} of ${group.length} instructions takes ${bytes} bytes of ${limits.maxBytes}.`);
}
