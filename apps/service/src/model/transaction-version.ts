/**
 * Of a Solana transaction: 0 with lookup tables, 1,232 bytes; 1 without, 4,096 bytes, where a cluster has it. A wallet is
 * never asked to sign 1.
 */
export type TransactionVersion = 0 | 1;
