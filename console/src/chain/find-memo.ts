import { createSolanaRpc, getBase58Encoder, isSignature } from '@solana/kit';

/** Memo v3, the one deployed on every cluster. */
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

export interface MemoQuestion {
  readonly signature: string;
  readonly memo: string;
  /** Must have signed the memo: the program refuses accounts that did not sign. */
  readonly signer: string;
}

/**
 * Whether a transaction that succeeded wrote a memo signed by an address, by what the cluster tells this page itself.
 * @throws Error when the cluster does not answer.
 */
export async function findMemo(rpcUrl: string, { signature, memo, signer }: MemoQuestion): Promise<boolean> {
  if (!isSignature(signature)) return false;
  const found = await createSolanaRpc(rpcUrl)
    .getTransaction(signature, { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 })
    .send();
  if (!found?.meta || found.meta.err !== null) return false;
  const { meta, transaction } = found;
  const accounts: readonly string[] = [
    ...transaction.message.accountKeys,
    ...(meta.loadedAddresses?.writable ?? []),
    ...(meta.loadedAddresses?.readonly ?? []),
  ];
  // The vault signs only within Squads’ own instructions, so the memo is one of those that these call.
  const called = meta.innerInstructions?.flatMap(({ instructions }) => instructions) ?? [];
  return called.some(
    (instruction) =>
      accounts[instruction.programIdIndex] === MEMO_PROGRAM &&
      instruction.accounts.some((place) => accounts[place] === signer) &&
      textOf(instruction.data) === memo,
  );
}

function textOf(base58: string): string {
  return new TextDecoder().decode(new Uint8Array(getBase58Encoder().encode(base58)));
}
