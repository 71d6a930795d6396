import {
  isMergedIn,
  type Proof,
  type ProofMemo,
  parseMergedPayload,
  parseProofMemo,
  proofHash,
  proofMemo,
  visibleText,
} from '@flywheel/protocol';
import { type RpcUrl, urlsOf } from '@flywheel/solana-rpc';
import { auditVault } from './audit/audit-vault.ts';
import { readVaultProofs } from './chain/read-vault-proofs.ts';
import type { Commitment } from './chain/rpc.ts';
import type { CallOptions } from './client.ts';

/** A proof, and the transaction that should carry it. */
export interface ProofQuery extends Proof {
  /** Signature of the transaction that should carry the proof, base58. */
  readonly signature: string;
  /** Address of the project's vault. It is public: take it from the project, not from the person who shows the proof. */
  readonly vault: string;
  /** The merged payload that paid for the event together with others, as the project publishes it. */
  readonly mergedPayload?: string | undefined;
}

export interface VerifyProofOptions extends CallOptions {
  /** `confirmed` by default. `finalized` can never be rolled back; it comes about 13 s later. */
  readonly commitment?: Commitment;
}

/** Result of `verifyProofOnChain`. */
export interface ProofVerification {
  /** True if the vault wrote exactly this proof on chain, in this transaction, and the transaction succeeded. */
  readonly isProven: boolean;
  /** The memo that was searched for. */
  readonly memo: string;
  /** A sentence that says why the proof is not on chain; null if it is proven. */
  readonly reason: string | null;
  /** All proofs of the vault in this transaction. */
  readonly found: readonly ProofMemo[];
  /** Slot of the transaction; null if no node knows the transaction. */
  readonly slot: number | null;
  /** Time of the block, ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
}

/**
 * Verifies on a node of your choice that the chain carries a proof; the service is not asked. A proof is the first
 * instruction of an executed pipeline, a memo signed by the vault of the multisig that executes it: only Squads can sign for
 * a vault, after both approvals. A MEMO action with the same text is not a proof.
 * @param rpcUrl a Solana node, or several of one cluster: each is asked until one knows the transaction.
 * @throws FlywheelError if no node knows the transaction and one does not answer, or if none has recorded what it called.
 *
 * @example
 * const { isProven, reason } = await verifyProofOnChain('https://api.mainnet-beta.solana.com', {
 *   type: 'WATCH_AD', payload: '{"adId":"123"}', signature, vault,
 * });
 */
export async function verifyProofOnChain(
  rpcUrl: RpcUrl,
  { signature, vault, mergedPayload, ...event }: ProofQuery,
  { commitment = 'confirmed', signal }: VerifyProofOptions = {},
): Promise<ProofVerification> {
  const proof = mergedPayload === undefined ? event : { type: event.type, payload: mergedPayload };
  const memo = proofMemo(proof);
  const transaction = await readVaultProofs(rpcUrl, { signature, vault, commitment }, { signal });
  if (!transaction) {
    const reason = `${urlsOf(rpcUrl).length > 1 ? 'No node knows the' : 'The node knows no'} ${commitment} transaction ${signature}.`;
    return { isProven: false, memo, reason, found: [], slot: null, executedAt: null };
  }
  const { proofs, slot, executedAt, failure } = transaction;
  const isListed = mergedPayload === undefined || isMergedIn(event, mergedPayload);
  const isProven = isListed && proofs.some(({ text }) => text === memo);
  const found = proofs.map(({ type, hash }) => ({ type, hash }));
  const reason = isProven ? null : isListed ? reasonOf(proof.type, found, failure) : NOT_LISTED;
  return { isProven, memo, reason, found, slot, executedAt };
}

/**
 * Everything about proofs in one object. Each function is also exported by its own name, for small bundles.
 *
 * @example
 * proof.hash({ type: 'WATCH_AD', payload: '{"adId":"123"}' });
 * await proof.verifyOnChain(rpcUrl, { type, payload, signature, vault });
 */
export const proof = {
  hash: proofHash,
  memo: proofMemo,
  parseMemo: parseProofMemo,
  parseMergedPayload,
  verifyOnChain: verifyProofOnChain,
  auditVault,
} as const;

const NOT_LISTED = 'The text is not a merged payload, or does not list this event.';

function reasonOf(type: string, found: readonly ProofMemo[], failure: string | null): string {
  if (failure !== null) return `The transaction failed: ${failure}.`;
  if (found.length === 0) return 'The vault wrote no proof in this transaction.';
  const sameType = found.filter((memo) => memo.type === type).length;
  return sameType > 0
    ? `The vault wrote ${sameType} proofs of the type ${type} in this transaction, all of other payloads.`
    : `The vault wrote proofs of ${found.map((memo) => visibleText(memo.type)).join(', ')} in this transaction, not of ${type}.`;
}
