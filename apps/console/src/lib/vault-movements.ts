import {
  type Address,
  address,
  createSolanaRpc,
  isSolanaError,
  type Rpc,
  type Signature,
  type SolanaRpcApi,
} from '@solana/kit';

/** What one transaction did to a vault. */
export interface Movement {
  readonly signature: string;
  readonly slot: bigint;
  /** ISO 8601, the block’s time; null while the cluster does not say it. */
  readonly at: string | null;
  readonly lamports: bigint;
  readonly baseUnits: bigint;
}

export interface VaultAccounts {
  readonly vault: string;
  readonly tokenAccount: string;
}

/** As many as one looks through; each takes a call of its own. */
const MAX_MOVEMENTS = 15;

/**
 * The last transactions that changed what a vault holds, newest first, read from the cluster over this page’s own
 * connection. Tokens arrive at the token account without naming the vault, so the signatures of both are looked at.
 * @throws Error when the cluster does not answer, or refuses.
 */
export async function readMovements(rpcUrl: string, accounts: VaultAccounts): Promise<Movement[]> {
  try {
    return await readNewest(createSolanaRpc(rpcUrl), accounts);
  } catch (cause) {
    throw new Error(`The cluster at ${rpcUrl} gave this page no list of transactions: ${whyOf(cause)}.`, { cause });
  }
}

async function readNewest(rpc: Rpc<SolanaRpcApi>, { vault, tokenAccount }: VaultAccounts): Promise<Movement[]> {
  const lists = await Promise.all([vault, tokenAccount].map((account) => signaturesOf(rpc, address(account))));
  const newest = [...new Map(lists.flat().map((entry) => [entry.signature, entry])).values()]
    .filter(({ err }) => err === null)
    .sort((a, b) => Number(b.slot - a.slot))
    .slice(0, MAX_MOVEMENTS);
  const read = await Promise.all(newest.map(({ signature }) => readMovement(rpc, signature, { vault, tokenAccount })));
  return read
    .filter((movement) => movement !== null)
    .filter(({ lamports, baseUnits }) => lamports !== 0n || baseUnits !== 0n);
}

/** What the node said itself, where it said anything. */
function whyOf(cause: unknown): string {
  if (isSolanaError(cause) && '__serverMessage' in cause.context) return String(cause.context.__serverMessage);
  return cause instanceof Error ? cause.message : String(cause);
}

function signaturesOf(rpc: Rpc<SolanaRpcApi>, account: Address) {
  return rpc.getSignaturesForAddress(account, { limit: MAX_MOVEMENTS, commitment: 'confirmed' }).send();
}

/** null when the cluster has forgotten it. */
async function readMovement(
  rpc: Rpc<SolanaRpcApi>,
  signature: Signature,
  { vault, tokenAccount }: VaultAccounts,
): Promise<Movement | null> {
  const found = await rpc
    .getTransaction(signature, { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 })
    .send();
  if (!found?.meta) return null;
  const { meta, slot, blockTime, transaction } = found;
  const loaded = meta.loadedAddresses;
  // Balances stand in this order: what the message names itself, then what its lookup tables add.
  const accounts: readonly string[] = [
    ...transaction.message.accountKeys,
    ...(loaded?.writable ?? []),
    ...(loaded?.readonly ?? []),
  ];
  const place = accounts.indexOf(vault);
  const tokenPlace = accounts.indexOf(tokenAccount);
  const tokensIn = (balances: typeof meta.preTokenBalances) =>
    BigInt(balances?.find(({ accountIndex }) => accountIndex === tokenPlace)?.uiTokenAmount.amount ?? 0);
  return {
    signature,
    slot,
    at: blockTime === null ? null : new Date(Number(blockTime) * 1_000).toISOString(),
    lamports: place === -1 ? 0n : (meta.postBalances[place] ?? 0n) - (meta.preBalances[place] ?? 0n),
    baseUnits: tokensIn(meta.postTokenBalances) - tokensIn(meta.preTokenBalances),
  };
}
