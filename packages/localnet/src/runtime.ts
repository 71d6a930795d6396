import type { Address, Transaction } from '@solana/kit';

/** Solana's TransactionError as JSON-RPC writes it: a bare name, or a name with its details. */
export type TransactionError = string | { readonly [name: string]: unknown };

/** Result of a transaction that passed the ledger's checks and was executed. */
export interface Execution {
  /** null when it succeeded. */
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
 * Executes transactions whose signatures, lifetime and size the ledger has already checked, and commits their effects
 * (on failure: fee and, for durable transactions, the advanced nonce are the ledger's business).
 * Two of them: the real Squads program in LiteSVM, and the emulation that lowers Squads instructions to their effects.
 */
export interface Runtime {
  readonly program: 'squads-v4' | 'emulation';
  execute(transaction: Transaction): Execution;
}
