import { isAddress } from '@flywheel/protocol';
import { firstKnown, type RpcUrl, urlsOf } from '@flywheel/solana-rpc';
import { findVaultProofs, type TransactionCall, type VaultProof } from '@flywheel/squads';
import { AccountRole, type Address, getBase58Encoder, type Instruction } from '@solana/kit';
import { askRpc, fieldOf, unexpectedAnswer } from './rpc.ts';

export interface VaultProofs {
  /** Proofs that the vault wrote by executing pipelines of its multisig, in order; none if the transaction failed. */
  readonly proofs: readonly VaultProof[];
  readonly slot: number;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
  /** The TransactionError as JSON text; null if the transaction succeeded. */
  readonly failure: string | null;
}

export interface VaultProofsQuery {
  /** Signature of the transaction, base58. */
  readonly signature: string;
  /** Address of the vault. */
  readonly vault: string;
  /** `finalized` can never be rolled back; it comes about 13 s after `confirmed`. */
  readonly commitment: 'confirmed' | 'finalized';
}

const METHOD = 'getTransaction';

/**
 * Reads the proofs that a vault wrote in one transaction of any version; null if no node knows the transaction.
 * A MEMO action is never a proof: only the first instruction of an executed pipeline counts (`findVaultProofs`).
 * @param rpcUrl a Solana node, or several of one cluster: each is asked until one knows the transaction.
 * @throws FlywheelError if no node answers, or the answer is not as documented.
 *
 * @example
 * const written = await readVaultProofs(rpcUrl, { signature, vault, commitment: 'confirmed' });
 * for (const { type, hash } of written?.proofs ?? []) console.log(type, hash);
 */
export async function readVaultProofs(
  rpcUrl: RpcUrl,
  { signature, vault, commitment }: VaultProofsQuery,
): Promise<VaultProofs | null> {
  const config = { encoding: 'json', commitment, maxSupportedTransactionVersion: LATEST_VERSION };
  const answer = await firstKnown(urlsOf(rpcUrl), (url) => askRpc(url, METHOD, [signature, config]));
  if (answer === null) return null;
  const [meta, slot, blockTime] = [fieldOf(answer, 'meta'), fieldOf(answer, 'slot'), fieldOf(answer, 'blockTime')];
  if (typeof slot !== 'number' || typeof meta !== 'object' || meta === null) throw unexpectedAnswer(METHOD, answer);
  const error = fieldOf(meta, 'err');
  const proofs = error === null ? await findVaultProofs(callsOf(answer, meta)) : [];
  return {
    proofs: proofs.filter((proof) => proof.vault === vault),
    slot,
    executedAt: typeof blockTime === 'number' ? new Date(blockTime * 1_000).toISOString() : null,
    failure: error === null ? null : JSON.stringify(error),
  };
}

/** A node returns transactions only up to this version. */
const LATEST_VERSION = 1;

function callsOf(answer: unknown, meta: unknown): TransactionCall[] {
  const message = fieldOf(fieldOf(answer, 'transaction'), 'message');
  const loaded = fieldOf(meta, 'loadedAddresses');
  const accounts = [fieldOf(message, 'accountKeys'), fieldOf(loaded, 'writable'), fieldOf(loaded, 'readonly')]
    .flatMap(listOf)
    .map(toAddress);
  const groups = listOf(fieldOf(meta, 'innerInstructions'));
  return listOf(fieldOf(message, 'instructions')).map((instruction, position) => ({
    instruction: toInstruction(instruction, accounts),
    inner: groups
      .filter((group) => fieldOf(group, 'index') === position)
      .flatMap((group) => listOf(fieldOf(group, 'instructions')))
      .map((inner) => toInstruction(inner, accounts)),
  }));
}

function toInstruction(compiled: unknown, accounts: readonly Address[]): Instruction {
  const data = fieldOf(compiled, 'data');
  if (typeof data !== 'string') throw unexpectedAnswer(METHOD, compiled);
  const at = (index: unknown): Address => {
    const account = typeof index === 'number' ? accounts[index] : undefined;
    if (account === undefined) throw unexpectedAnswer(METHOD, compiled);
    return account;
  };
  return {
    programAddress: at(fieldOf(compiled, 'programIdIndex')),
    // The answer does not contain roles, and a proof does not depend on them.
    accounts: listOf(fieldOf(compiled, 'accounts')).map((index) => ({
      address: at(index),
      role: AccountRole.READONLY,
    })),
    data: getBase58Encoder().encode(data),
  };
}

function toAddress(value: unknown): Address {
  if (typeof value === 'string' && isAddress(value)) return value;
  throw unexpectedAnswer(METHOD, value);
}

/** The entries of a list; none if the value is not a list. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
