import { MAX_BLOCKHASH_AGE } from '@flywheel/protocol';
import type { Address, Commitment } from '@solana/kit';
import * as z from 'zod';
import { shapes } from './rpc.ts';

// Answers of the methods that `Chain` calls: their shapes, and their conversion.

/** An account, with the names of kit’s `EncodedAccount`. */
export interface ChainAccount {
  readonly address: Address;
  readonly lamports: bigint;
  /** Program that owns the account. */
  readonly programAddress: Address;
  /** True for a program. */
  readonly executable: boolean;
  /** All data, or the first bytes if the reader asked for no more (`maxBytes`). */
  readonly data: Uint8Array;
  /** Number of bytes that the account holds, also if `data` has fewer. */
  readonly space: bigint;
}

/** Lamports. A failed transaction changes nothing but its fee payer’s balance. */
export interface TransactionCosts {
  readonly feePayer: Address;
  readonly feeLamports: bigint;
  /** Lamports that each account of the transaction gained or, if negative, lost. */
  readonly changes: ReadonlyMap<Address, bigint>;
  readonly failed: boolean;
}

export interface LandedSignature {
  readonly slot: bigint;
  /** JSON text of the TransactionError, e.g. `{"InstructionError":[0,{"Custom":6008}]}`; null when it succeeded. */
  readonly err: string | null;
  readonly confirmation: Commitment;
}

export interface Simulation {
  /** JSON text of the TransactionError, as in `LandedSignature`. */
  readonly err: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
}

/** Context of an answer: the slot of its bank. */
const context = z.object({ slot: shapes.u64 });

export const AccountsAnswer = z.object({
  context,
  value: z.array(
    z
      .object({
        lamports: shapes.u64,
        owner: shapes.address,
        executable: z.boolean(),
        data: shapes.bytes,
        space: shapes.u64,
      })
      .transform(({ owner: programAddress, ...rest }) => ({ ...rest, programAddress }))
      .nullable(),
  ),
});

/** There are at most as many blocks as slots. A bundle that never expired would hold up its batch for good. */
export const BlockhashAnswer = z
  .object({ context, value: z.object({ blockhash: shapes.blockhash, lastValidBlockHeight: shapes.u64 }) })
  .refine(({ context: { slot }, value }) => value.lastValidBlockHeight <= slot + MAX_BLOCKHASH_AGE, {
    path: ['value', 'lastValidBlockHeight'],
    error: 'is later than the chain can be',
  });

export const PrioritizationFeesAnswer = z
  .array(z.object({ prioritizationFee: shapes.u64 }))
  .transform((blocks): readonly bigint[] => blocks.map(({ prioritizationFee }) => prioritizationFee));

export const EpochInfoAnswer = z
  .object({ absoluteSlot: shapes.u64, blockHeight: shapes.u64 })
  .refine(({ absoluteSlot, blockHeight }) => blockHeight <= absoluteSlot, {
    path: ['blockHeight'],
    error: 'is later than the chain can be',
  })
  .transform(({ absoluteSlot: slot, blockHeight }) => ({ slot, blockHeight }));

export const StatusesAnswer = z.object({
  context,
  value: z.array(
    z
      .object({
        slot: shapes.u64,
        err: shapes.transactionError,
        confirmations: shapes.u64.nullable(),
        confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
      })
      .transform(({ slot, err, confirmations, confirmationStatus }): LandedSignature => {
        // Long-term storage has no confirmation status; no count of confirmations means rooted.
        const confirmation = confirmationStatus ?? (confirmations === null ? 'finalized' : 'processed');
        return { slot, err, confirmation };
      })
      .nullable(),
  ),
});

export const TransactionAnswer = z
  .object({
    transaction: z.object({ message: z.object({ accountKeys: z.tuple([shapes.address], shapes.address) }) }),
    meta: z.object({
      err: shapes.transactionError,
      fee: shapes.u64,
      preBalances: z.array(shapes.u64),
      postBalances: z.array(shapes.u64),
      loadedAddresses: z.object({ writable: z.array(shapes.address), readonly: z.array(shapes.address) }).nullish(),
    }),
  })
  .transform(({ transaction, meta }): TransactionCosts => {
    const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
    const accounts = [...transaction.message.accountKeys, ...writable, ...readonly];
    const balances = paired('getTransaction', meta.preBalances, meta.postBalances, (before, after) => after - before);
    return {
      feePayer: transaction.message.accountKeys[0],
      feeLamports: meta.fee,
      failed: meta.err !== null,
      changes: new Map(paired('getTransaction', accounts, balances, (account, change) => [account, change] as const)),
    };
  })
  .nullable();

export const LogsAnswer = z.object({ meta: z.object({ logMessages: z.array(z.string()).nullish() }) }).nullable();

export const HistoryAnswer = z.array(z.object({ signature: shapes.signature, err: shapes.transactionError }));

export const SimulationAnswer = z.object({
  value: z
    .object({
      err: shapes.transactionError,
      logs: z.array(z.string()).nullish(),
      unitsConsumed: shapes.u64.nullish(),
    })
    .transform(
      ({ err, logs, unitsConsumed }): Simulation => ({ err, logs: logs ?? [], unitsConsumed: unitsConsumed ?? null }),
    ),
});

/** Combines requested items with their answers, in order. @throws Error if the numbers of items and answers differ. */
export function paired<Asked, Answered, Result>(
  method: string,
  asked: readonly Asked[],
  answered: readonly Answered[],
  combine: (asked: Asked, answered: Answered) => Result,
): Result[] {
  if (answered.length !== asked.length) {
    throw new Error(`${method}: unexpected answer: ${answered.length} entries for ${asked.length} asked for`);
  }
  // The lengths are equal, so `answered[i]` exists; Answered may itself include null.
  return asked.map((item, i) => combine(item, answered[i] as Answered));
}
