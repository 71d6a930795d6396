import { isFeatureActive, TRANSACTION_V1_FEATURE } from '@flywheel/protocol';
import type { Warn } from '@flywheel/solana-rpc';
import type { TransactionVersion } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Chain } from './chain.ts';

/** Terms for transactions that only the service signs. */
export interface SendingTerms {
  readonly version: TransactionVersion;
  /** Price that recent transactions paid for writing the same accounts, up to a maximum. */
  readonly computeUnitPriceMicroLamports: bigint;
  /** True if the last transaction of each bundle tips. */
  readonly isTipped: boolean;
}

/**
 * Reads the present price of a compute unit in micro-lamports: three of four recent blocks accepted transactions that
 * write these accounts for at most this price. It is rounded down to a step and kept within bounds; it is the lower bound if
 * the node does not answer.
 */
export async function readComputeUnitPrice(
  { chain, log }: { readonly chain: Pick<Chain, 'recentPrioritizationFees'>; readonly log?: Warn },
  accounts: readonly Address[],
  maxMicroLamports: bigint,
): Promise<bigint> {
  try {
    const fees = (await chain.recentPrioritizationFees(accounts)).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    const accepted = fees[Math.floor((fees.length - 1) * QUANTILE)] ?? 0n;
    const price = accepted - (accepted % PRICE_STEP);
    if (price > maxMicroLamports) return maxMicroLamports;
    return price > MIN_COMPUTE_UNIT_PRICE ? price : MIN_COMPUTE_UNIT_PRICE;
  } catch (error) {
    log?.warn({ err: error }, 'cannot read recent prioritization fees; offering the lowest price');
    return MIN_COMPUTE_UNIT_PRICE;
  }
}

const QUANTILE = 0.75;
/**
 * Micro-lamports. A transaction of version 1 pays whole lamports, rounded up, so the service's own show a price that is up to
 * 70 higher than the one it chose. It would follow itself upwards without this step.
 */
const PRICE_STEP = 100n;
/** Micro-lamports. It gives priority over transactions that offer nothing, and costs at most 1,400 lamports. */
export const MIN_COMPUTE_UNIT_PRICE = 1_000n;

/** Chooses the version of the next transaction by the cluster’s features and the outcome of earlier ones. */
export interface VersionChoice {
  /** @param attempt counts earlier bundles of the same content that did not land; after one, version 0 is tried. */
  current(attempt: number): Promise<TransactionVersion>;
  /**
   * Reports the outcome of transactions of version 1. After a rejection, or two losses in a row, there are none for an
   * hour.
   */
  report(outcome: 'landed' | 'lost' | 'rejected'): void;
}

/**
 * Creates the choice. A block engine may reject or silently drop what the cluster accepts, so only the outcome shows
 * it.
 */
export function createVersionChoice({
  chain,
  clock,
  log,
}: {
  readonly chain: Pick<Chain, 'accounts'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log?: Warn;
}): VersionChoice {
  let lostInARow = 0;
  let avoidUntilMs = 0;
  let isActive = false;
  let askAgainMs = 0;
  return {
    current: async (attempt) => {
      const nowMs = clock.now().getTime();
      if (attempt > 0 || nowMs < avoidUntilMs) return 0;
      if (!isActive && nowMs >= askAgainMs) {
        isActive = isFeatureActive((await chain.accounts([TRANSACTION_V1_FEATURE]))[0]);
        askAgainMs = nowMs + RETRY_MS;
      }
      return isActive ? 1 : 0;
    },

    report: (outcome) => {
      lostInARow = outcome === 'lost' ? lostInARow + 1 : 0;
      if (outcome !== 'rejected' && lostInARow < MAX_LOST_IN_A_ROW) return;
      lostInARow = 0;
      avoidUntilMs = clock.now().getTime() + RETRY_MS;
      log?.warn({ outcome, retryMs: RETRY_MS }, 'transactions of version 1 do not land here; sending version 0');
    },
  };
}

const RETRY_MS = 60 * 60_000;
const MAX_LOST_IN_A_ROW = 2;
