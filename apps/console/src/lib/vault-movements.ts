import { address } from '@flywheel/protocol';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { type Address, createSolanaRpcFromTransport, type Rpc, type Signature, type SolanaRpcApi } from '@solana/kit';

/** The change of a vault’s balances by one transaction. */
export interface Movement {
  readonly signature: string;
  readonly slot: bigint;
  /** ISO 8601, the block’s time; null while the cluster does not know it. */
  readonly at: string | null;
  readonly lamports: bigint;
  readonly baseUnits: bigint;
}

export interface VaultAccounts {
  readonly vault: string;
  readonly tokenAccount: string;
}

/** Each movement costs one RPC request. */
const MAX_MOVEMENTS = 15;

/**
 * Reads the last transactions that changed a vault’s balances, newest first, directly from the cluster. Token transfers
 * name the token account and not the vault, so this reads the signatures of both.
 * @throws Error when the cluster does not answer or answers with an error.
 */
export async function readMovements(rpcUrl: string, accounts: VaultAccounts): Promise<Movement[]> {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  try {
    return await readNewest(rpc, accounts);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The cluster did not answer with the vault’s transactions: ${reason}`, { cause });
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

function signaturesOf(rpc: Rpc<SolanaRpcApi>, account: Address) {
  return rpc.getSignaturesForAddress(account, { limit: MAX_MOVEMENTS, commitment: 'confirmed' }).send();
}

/** Answers null when the cluster no longer has the transaction. */
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
  // The order of the balances: accounts of the message, then those that lookup tables add.
  const accounts: readonly string[] = [
    ...transaction.message.accountKeys,
    ...(loaded?.writable ?? []),
    ...(loaded?.readonly ?? []),
  ];
  const vaultIndex = accounts.indexOf(vault);
  const tokenIndex = accounts.indexOf(tokenAccount);
  const tokensIn = (balances: typeof meta.preTokenBalances) =>
    BigInt(balances?.find(({ accountIndex }) => accountIndex === tokenIndex)?.uiTokenAmount.amount ?? 0);
  return {
    signature,
    slot,
    at: blockTime === null ? null : new Date(Number(blockTime) * 1_000).toISOString(),
    lamports: vaultIndex === -1 ? 0n : (meta.postBalances[vaultIndex] ?? 0n) - (meta.preBalances[vaultIndex] ?? 0n),
    baseUnits: tokensIn(meta.postTokenBalances) - tokensIn(meta.preTokenBalances),
  };
}
