import { getBase58Encoder } from '@solana/kit';
import { MEMO_PROGRAM, SQUADS_PROGRAM } from './programs.ts';
import { askRpc } from './rpc/ask-rpc.ts';
import { fieldOf, listOf, numberOf, unexpectedAnswer } from './rpc/rpc-answer.ts';

export interface VaultMemos {
  /** What the vault wrote, in order. */
  readonly memos: readonly string[];
  readonly slot: number;
  /** ISO 8601; null when the node does not know it. */
  readonly executedAt: string | null;
  /** Why the transaction failed; null when it succeeded. */
  readonly failure: string | null;
}

export interface VaultMemosQuestion {
  readonly signature: string;
  readonly vault: string;
  /** `finalized` can never be rolled back and comes about 13 s later than `confirmed`. */
  readonly commitment: 'confirmed' | 'finalized';
}

const METHOD = 'getTransaction';

/**
 * The memos that a vault signed in one transaction, whatever the transaction’s version; null when there is none such.
 * @throws FlywheelError when the node does not answer, or not as it should.
 *
 * @example
 * const written = await readVaultMemos(rpcUrl, { signature, vault, commitment: 'confirmed' });
 * if (written?.failure === null) console.log(written.memos.map(parseProofMemo));
 */
export async function readVaultMemos(
  rpcUrl: string,
  { signature, vault, commitment }: VaultMemosQuestion,
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

/** Nodes answer transactions up to the version that is asked for. */
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
    .filter((group) => programOf(outer[numberOf(fieldOf(group, 'index'))]) === SQUADS_PROGRAM)
    .flatMap((group) => listOf(fieldOf(group, 'instructions')))
    .filter((inner) => programOf(inner) === MEMO_PROGRAM)
    .filter((inner) => listOf(fieldOf(inner, 'accounts')).some((index) => accounts[numberOf(index)] === vault))
    .map((inner) => {
      const bytes = fieldOf(inner, 'data');
      if (typeof bytes !== 'string') throw unexpectedAnswer(METHOD, inner);
      return new TextDecoder().decode(new Uint8Array(getBase58Encoder().encode(bytes)));
    });
}
