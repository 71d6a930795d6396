import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { getBase58Encoder } from '@solana/kit';
import { askRpc, fieldOf, unexpectedAnswer } from './rpc.ts';

export interface VaultMemos {
  /** Texts that the vault wrote, in order. */
  readonly memos: readonly string[];
  readonly slot: number;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
  /** The TransactionError as JSON text; null if the transaction succeeded. */
  readonly failure: string | null;
}

export interface VaultMemosQuery {
  /** Signature of the transaction, base58. */
  readonly signature: string;
  /** Address of the vault. */
  readonly vault: string;
  /** `finalized` can never be rolled back; it comes about 13 s after `confirmed`. */
  readonly commitment: 'confirmed' | 'finalized';
}

const METHOD = 'getTransaction';

/**
 * Reads the memos that a vault signed in one transaction of any version; null if the node does not know the transaction.
 * @param rpcUrl a Solana node.
 * @throws FlywheelError if the node does not answer, or its answer is not as documented.
 *
 * @example
 * const written = await readVaultMemos(rpcUrl, { signature, vault, commitment: 'confirmed' });
 * if (written?.failure === null) console.log(written.memos.map(parseProofMemo));
 */
export async function readVaultMemos(
  rpcUrl: string,
  { signature, vault, commitment }: VaultMemosQuery,
): Promise<VaultMemos | null> {
  const config = { encoding: 'json', commitment, maxSupportedTransactionVersion: LATEST_VERSION };
  const answer = await askRpc(rpcUrl, METHOD, [signature, config]);
  if (answer === null) return null;
  const [meta, slot, blockTime] = [fieldOf(answer, 'meta'), fieldOf(answer, 'slot'), fieldOf(answer, 'blockTime')];
  if (typeof slot !== 'number' || typeof meta !== 'object' || meta === null) throw unexpectedAnswer(METHOD, answer);
  const error = fieldOf(meta, 'err');
  return {
    memos: vaultMemos(answer, meta, vault),
    slot,
    executedAt: typeof blockTime === 'number' ? new Date(blockTime * 1_000).toISOString() : null,
    failure: error === null ? null : JSON.stringify(error),
  };
}

/** A node returns transactions only up to this version. */
const LATEST_VERSION = 1;

function vaultMemos(answer: unknown, meta: unknown, vault: string): string[] {
  const message = fieldOf(fieldOf(answer, 'transaction'), 'message');
  const loaded = fieldOf(meta, 'loadedAddresses');
  const accounts = [fieldOf(message, 'accountKeys'), fieldOf(loaded, 'writable'), fieldOf(loaded, 'readonly')].flatMap(
    listOf,
  );
  const outer = listOf(fieldOf(message, 'instructions'));
  const programOf = (instruction: unknown) => accounts[numberOf(fieldOf(instruction, 'programIdIndex'))];
  return listOf(fieldOf(meta, 'innerInstructions'))
    .filter((group) => programOf(outer[numberOf(fieldOf(group, 'index'))]) === SQUADS_PROGRAM_ADDRESS)
    .flatMap((group) => listOf(fieldOf(group, 'instructions')))
    .filter((inner) => programOf(inner) === MEMO_PROGRAM_ADDRESS)
    .filter((inner) => listOf(fieldOf(inner, 'accounts')).some((index) => accounts[numberOf(index)] === vault))
    .map((inner) => {
      const bytes = fieldOf(inner, 'data');
      if (typeof bytes !== 'string') throw unexpectedAnswer(METHOD, inner);
      return new TextDecoder().decode(new Uint8Array(getBase58Encoder().encode(bytes)));
    });
}

/** The entries of a list; none if the value is not a list. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An index; -1, where no list has an entry, if the value is not a number. */
function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : -1;
}
