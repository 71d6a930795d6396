import type { Address } from '@solana/kit';
import type { Chain } from './chain.ts';
import type { Warn } from './rpc/transport.ts';

/**
 * What a compute unit is worth now, in micro-lamports: three of four recent blocks took transactions that write these
 * accounts for no more. Within bounds; the least of them where the node does not say.
 */
export async function readComputeUnitPrice(
  { chain, log }: { readonly chain: Pick<Chain, 'recentPrioritizationFees'>; readonly log?: Warn },
  accounts: readonly Address[],
  maxMicroLamports: bigint,
): Promise<bigint> {
  try {
    const fees = (await chain.recentPrioritizationFees(accounts)).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const price = fees[Math.floor((fees.length - 1) * QUANTILE)] ?? 0n;
    if (price > maxMicroLamports) return maxMicroLamports;
    return price > MIN_COMPUTE_UNIT_PRICE ? price : MIN_COMPUTE_UNIT_PRICE;
  } catch (error) {
    log?.warn({ err: error }, 'recent prioritization fees not readable, the least price is offered');
    return MIN_COMPUTE_UNIT_PRICE;
  }
}

const QUANTILE = 0.75;
/** Micro-lamports: enough to stand before transactions that offer nothing, 1,400 lamports at most. */
export const MIN_COMPUTE_UNIT_PRICE = 1_000n;
