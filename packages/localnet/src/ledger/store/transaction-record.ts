import type { Signature } from '@solana/kit';
import type { TransactionError } from '../../runtime.ts';
import type { TransactionMeta } from '../transaction-meta.ts';

/** A transaction that the ledger took in, whether it succeeded or failed. */
export interface TransactionRecord extends TransactionSummary {
  readonly wire: Uint8Array;
  readonly meta: TransactionMeta;
}

/** What is told of a transaction without looking into it. */
export interface TransactionSummary {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly blockTime: bigint;
  readonly err: TransactionError | null;
}
