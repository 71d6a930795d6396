import { type Address, getI64Decoder, type ReadonlyUint8Array } from '@solana/kit';
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

/** Clock sysvar: slot u64, start of the epoch i64, epoch u64, epoch of the leader schedule u64, Unix time i64. */
const CLOCK_TIME_OFFSET = 32;
const CLOCK_BYTES = 40;

/** Reads a cluster’s time, in seconds since 1970, from the data of its clock account; null if that is no clock. */
export function clusterTimeOf(clock: ReadonlyUint8Array): number | null {
  if (clock.length < CLOCK_BYTES) return null;
  return Number(getI64Decoder().decode(clock, CLOCK_TIME_OFFSET));
}
