import type { Signature } from '@solana/kit';
import type { TransactionError } from '../../runtime.ts';
import type { TransactionMeta } from '../transaction-meta.ts';

/** A transaction in the ledger, successful or failed. */
export interface TransactionRecord extends TransactionSummary {
  readonly wire: Uint8Array;
  readonly meta: TransactionMeta;
}

/** Summary of a transaction, without its content. */
export interface TransactionSummary {
  readonly signature: Signature;
  readonly slot: bigint;
  readonly blockTime: bigint;
  readonly err: TransactionError | null;
}
