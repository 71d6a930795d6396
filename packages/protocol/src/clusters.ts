/** Clusters that everybody shares. Every other one is local. */
export type PublicCluster = 'mainnet' | 'devnet' | 'testnet';

/** A genesis hash begins with its chain's CAIP-2 reference (namespaces.chainagnostic.org/solana/caip2). */
const GENESIS_PREFIXES: readonly (readonly [PublicCluster, string])[] = [
  ['mainnet', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
  ['devnet', 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1'],
  ['testnet', '4uhcVJyU9pJkvQyUS88uRDiswHXSCkY3'],
];

/** Names the public cluster with a genesis hash; null for any other cluster. */
export function publicClusterOf(genesisHash: string): PublicCluster | null {
  return GENESIS_PREFIXES.find(([, prefix]) => genesisHash.startsWith(prefix))?.[0] ?? null;
}
