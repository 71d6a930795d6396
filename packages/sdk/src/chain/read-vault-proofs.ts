import { type RpcUrl, urlsOf } from '@flywheel/solana-rpc';
import { findVaultProofs, type VaultProof } from '@flywheel/squads';
import type { CallOptions } from '../client.ts';
import { FlywheelError } from '../errors.ts';
import { findTransaction, GET_TRANSACTION } from './read-transaction.ts';
import { askRpc, type Commitment } from './rpc.ts';

/** The proofs of a vault in one transaction. */
export interface VaultProofs {
  /** Proofs that the vault wrote by executing pipelines of its multisig, in order; none if the transaction failed. */
  readonly proofs: readonly VaultProof[];
  readonly slot: number;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
  /** The TransactionError as JSON text; null if the transaction succeeded. */
  readonly failure: string | null;
}

/** The vault and the transaction to read. */
export interface VaultProofsQuery {
  /** Signature of the transaction, base58. */
  readonly signature: string;
  /** Address of the vault. */
  readonly vault: string;
  /** `finalized` can never be rolled back; it comes about 13 s after `confirmed`. */
  readonly commitment: Commitment;
}

/**
 * Reads the proofs that a vault wrote in one transaction of any version; null if no node knows the transaction.
 * A MEMO action is never a proof: only the first instruction of an executed pipeline counts (`findVaultProofs`).
 * @param rpcUrl a Solana node, or several of one cluster: each is asked until one knows the transaction.
 * @throws FlywheelError if no node knows it and one does not answer, if none has recorded what it called, or the answer is not
 * as documented.
 *
 * @example
 * const written = await readVaultProofs(rpcUrl, { signature, vault, commitment: 'confirmed' });
 * for (const { type, hash } of written?.proofs ?? []) console.log(type, hash);
 */
export async function readVaultProofs(
  rpcUrl: RpcUrl,
  { signature, vault, commitment }: VaultProofsQuery,
  { signal }: CallOptions = {},
): Promise<VaultProofs | null> {
  const ask = (url: string, params: readonly unknown[]) => askRpc(url, GET_TRANSACTION, params, signal);
  const transaction = await findTransaction(urlsOf(rpcUrl), { signature, commitment }, ask, signal);
  if (transaction === null) return null;
  const { slot, executedAt, failure, calls, hasInner } = transaction;
  if (!hasInner) {
    const message = `The node has not recorded what the instructions of the transaction ${signature} called, where proofs are. Ask another node.`;
    throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
  }
  const proofs = failure === null ? findVaultProofs(calls) : [];
  return { proofs: proofs.filter((proof) => proof.vault === vault), slot, executedAt, failure };
}
