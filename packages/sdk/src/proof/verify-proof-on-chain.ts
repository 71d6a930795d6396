import { readVaultMemos } from '../chain/read-vault-memos.ts';
import { type Proof, type ProofMemo, parseProofMemo, proofMemo } from './proof-memo.ts';

export interface ProofQuestion extends Proof {
  /** Of the transaction that is said to carry the proof, base58. */
  readonly signature: string;
  /** The project’s vault. It is public: take it from the project, not from whoever shows the proof. */
  readonly vault: string;
}

export interface VerifyProofOptions {
  /** `confirmed` by default; `finalized` can never be rolled back and comes about 13 s later. */
  readonly commitment?: 'confirmed' | 'finalized';
}

export interface ProofVerdict {
  /** The vault wrote exactly this proof on chain, in this transaction, and it succeeded. */
  readonly isProven: boolean;
  /** The memo that was looked for. */
  readonly memo: string;
  /** A sentence; null when it is proven. */
  readonly problem: string | null;
  /** What the vault proved in this transaction. */
  readonly found: readonly ProofMemo[];
  /** null when there is no such transaction. */
  readonly slot: number | null;
  /** The block’s time, ISO 8601; null when the node does not know it. */
  readonly executedAt: string | null;
}

/**
 * Whether the chain carries a proof, asked of a node of your choice: neither the service nor its word is needed. The memo
 * program takes a memo only if every account it names has signed, and for a vault Squads alone can sign, after both
 * approvals.
 * @throws FlywheelError when the node does not answer.
 *
 * @example
 * const { isProven, problem } = await verifyProofOnChain('https://api.mainnet-beta.solana.com', {
 *   type: 'WATCH_AD', payload: '{"adId":"123"}', signature, vault,
 * });
 */
export async function verifyProofOnChain(
  rpcUrl: string,
  { signature, vault, ...proof }: ProofQuestion,
  { commitment = 'confirmed' }: VerifyProofOptions = {},
): Promise<ProofVerdict> {
  const memo = await proofMemo(proof);
  const transaction = await readVaultMemos(rpcUrl, { signature, vault, commitment });
  if (!transaction) {
    const problem = `The cluster knows no ${commitment} transaction ${signature}.`;
    return { isProven: false, memo, problem, found: [], slot: null, executedAt: null };
  }
  const { memos, slot, executedAt, failure } = transaction;
  const isProven = failure === null && memos.includes(memo);
  const found = failure === null ? memos.map(parseProofMemo).filter((read) => read !== null) : [];
  const problem = isProven ? null : problemOf(proof.type, found, failure);
  return { isProven, memo, problem, found, slot, executedAt };
}

function problemOf(type: string, found: readonly ProofMemo[], failure: string | null): string {
  if (failure !== null) return `The transaction failed: ${failure}.`;
  if (found.length === 0) return 'The vault proved nothing in this transaction.';
  const sameType = found.filter((memo) => memo.type === type).length;
  return sameType > 0
    ? `The vault proved ${sameType} of the type ${type} in this transaction, with another payload.`
    : `The vault proved ${found.map((memo) => memo.type).join(', ')} in this transaction, not ${type}.`;
}
