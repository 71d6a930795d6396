import type { Address, Transaction } from '@solana/kit';

/** Solana's TransactionError in JSON-RPC: a name, or a name with details. */
export type TransactionError = string | { readonly [name: string]: unknown };

/** Result of a transaction that passed the ledger's checks and was executed. */
export interface Execution {
  /** null if it succeeded. */
  readonly err: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** Inner instructions by index of the outer one, accounts as indices into the transaction's account list. */
  readonly innerInstructions: readonly InnerInstructions[];
  readonly returnData: { readonly programId: Address; readonly data: Uint8Array } | null;
}

export interface InnerInstructions {
  readonly index: number;
  readonly instructions: readonly {
    readonly programIdIndex: number;
    readonly accounts: readonly number[];
    readonly data: Uint8Array;
    readonly stackHeight: number;
  }[];
}

/**
 * Executes transactions whose signatures, lifetime and size the ledger has checked, and commits their effects. After a
 * failure the ledger charges the fee and advances a durable nonce. There are two: the real Squads program in LiteSVM,
 * and the emulation, which turns Squads instructions into their effects.
 */
export interface Runtime {
  readonly program: 'squads-v4' | 'emulation';
  execute(transaction: Transaction): Execution;
}
