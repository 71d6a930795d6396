import type { Address, ReadonlyUint8Array } from '@solana/kit';
import { address } from './addresses.ts';
import { FEATURE_PROGRAM_ADDRESS } from './reserved-addresses.ts';

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

/** Feature of a cluster that accepts transactions of version 1 (SIMD-0385). */
export const TRANSACTION_V1_FEATURE = /* @__PURE__ */ address('txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL');

/** Checks a feature’s account, which holds an optional slot: 1 and the slot of its activation (Agave, `Feature`). */
export function isFeatureActive(
  feature: { readonly programAddress: Address; readonly data: ReadonlyUint8Array } | null | undefined,
): boolean {
  return feature?.programAddress === FEATURE_PROGRAM_ADDRESS && feature.data[0] === 1;
}
