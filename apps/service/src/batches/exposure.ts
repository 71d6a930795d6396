import {
  LAMPORTS_PER_SIGNATURE,
  MAX_BUNDLE_TRANSACTIONS,
  maxRentLamports,
  priorityFeeLamports,
} from '@flywheel/protocol';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { getNonceSize } from '@solana-program/system';
import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { accountSizes } from '../squads/rent.ts';
import type { Exposure } from '../store/batches/exposure.ts';

/** The highest prices that a worker pays. */
export interface Prices {
  /** 0 without a block engine. */
  readonly maxTipLamports: bigint;
  /** Micro-lamports per compute unit. */
  readonly maxComputeUnitPrice: bigint;
}

/** Computes upper bounds of what a batch locks and spends, without a call to the cluster. */
export async function boundExposure(
  prices: Prices,
  multisig: Multisig,
  batch: Pick<Batch, 'kind' | 'pipelines'>,
): Promise<Exposure> {
  const { length } = batch.pipelines;
  const sizes = [...(await accountSizes(multisig, batch)), getNonceSize()];
  return {
    lockedLamports: sizes.reduce((sum, bytes) => sum + maxRentLamports(bytes), 0n),
    spendLamports: boundPhases(prices, [length + SETUP_STEPS, length + 1, length + CLOSE_STEPS]),
  };
}

/** Computes an upper bound of what closing an ended batch spends. */
export function boundClosing(prices: Prices, { pipelines }: Pick<Batch, 'pipelines'>): bigint {
  return boundPhases(prices, [pipelines.length + CLOSE_STEPS]);
}

/** Computes an upper bound of what using up an index without effect spends, which takes one transaction. */
export function boundBurnedIndex({ maxTipLamports, maxComputeUnitPrice }: Prices): bigint {
  return maxFeeLamports(maxComputeUnitPrice) + maxTipLamports;
}

/** Creation of batch and draft, and the activation, beside a transaction for each pipeline. */
const SETUP_STEPS = 2;
/** The activation of a draft, the company's vote, and the closing of batch and proposal, beside one for each pipeline. */
const CLOSE_STEPS = 3;
/** The first attempt, and one after a failure: more are charged when they happen. */
const RESERVED_ATTEMPTS = 2n;
/** A tip may take the place of the fifth transaction. */
const TRANSACTIONS_PER_BUNDLE = BigInt(MAX_BUNDLE_TRANSACTIONS - 1);
/** The approval has the most: the operator's, the wallet's and the company's. */
const MAX_SIGNATURES = 3n;

/** @param phases the most transactions of each phase. */
function boundPhases({ maxTipLamports, maxComputeUnitPrice }: Prices, phases: readonly number[]): bigint {
  return phases.reduce((sum, count) => {
    const transactions = BigInt(count);
    const bundles = (transactions + TRANSACTIONS_PER_BUNDLE - 1n) / TRANSACTIONS_PER_BUNDLE;
    return sum + RESERVED_ATTEMPTS * (transactions * maxFeeLamports(maxComputeUnitPrice) + bundles * maxTipLamports);
  }, 0n);
}

function maxFeeLamports(maxComputeUnitPrice: bigint): bigint {
  return MAX_SIGNATURES * LAMPORTS_PER_SIGNATURE + priorityFeeLamports(MAX_COMPUTE_UNIT_LIMIT, maxComputeUnitPrice);
}
