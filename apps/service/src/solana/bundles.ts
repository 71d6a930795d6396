import { MAX_BUNDLE_TRANSACTIONS } from '@flywheel/protocol';
import type { Warn } from '@flywheel/solana-rpc';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import { type BundleCarrier, createBlockEngine } from './block-engine.ts';
import type { Chain } from './chain.ts';
import { nodeErrorOf } from './rpc.ts';
import { sendAndConfirm } from './send-and-confirm.ts';
import { createVersionChoice, readComputeUnitPrice, type SendingTerms, type VersionChoice } from './sending-terms.ts';

/** Sends transactions that belong together, in order. */
export interface BundleSender extends BundleCarrier {
  readonly maxTransactions: number;
  /** True if a bundle lands as a whole or not at all. */
  readonly isAtomic: boolean;
  /** Reads the terms for transactions that only the service signs. `attempt` is that of the tip. */
  terms(accounts: readonly Address[], attempt?: number): Promise<SendingTerms>;
  /** Reports the outcome of a bundle with transactions of version 1: if they do not land, `terms` returns 0. */
  reportVersion1: VersionChoice['report'];
  /** Sends a bundle. @throws BundleFailed if one of the transactions is known to have landed and failed. */
  send: BundleCarrier['send'];
}

export interface BundleSenderOptions {
  readonly chain: Chain;
  /** URL of Jito’s JSON-RPC, with or without its path; null sends over the chain’s RPC. */
  readonly blockEngineUrl: string | null;
  readonly clock: Clock;
  readonly log?: Warn;
  /** Aborts waits for confirmation. */
  readonly signal?: AbortSignal;
  /** Highest tip of a bundle, in lamports. */
  readonly maxTipLamports: bigint;
  /** Highest price of a compute unit, in micro-lamports. */
  readonly maxComputeUnitPrice: bigint;
  /**
   * Shortest time between requests to the block engine; 1,000 ms by default, Jito’s limit without an agreement,
   * and none for an engine on this machine.
   */
  readonly requestIntervalMs?: number;
  /** Number in [0, 1) that picks the tip account. */
  readonly random?: () => number;
}

/** A transaction of a bundle was processed and failed. Earlier ones succeeded, later ones were not sent. */
export class BundleFailed extends Error {
  /** Index of the transaction in the bundle, from 0. */
  readonly position: number;
  /** JSON text of the TransactionError. */
  readonly err: string;

  constructor(position: number, err: string) {
    super(`Transaction ${position} of the bundle failed on chain: ${err}`);
    this.name = 'BundleFailed';
    this.position = position;
    this.err = err;
  }
}

export function isBundleFailed(error: unknown): error is BundleFailed {
  return error instanceof BundleFailed;
}

/** True if the receiver of a bundle rejected it, and was neither busy nor unreachable. */
export function isBundleRejected(error: unknown): boolean {
  return nodeErrorOf(error) !== null;
}

/**
 * Creates the sender. With a block engine a bundle lands completely or not at all, in one slot. Without one, each
 * transaction is sent over RPC after the previous one is processed: validators take transactions that arrive together in any
 * order, so one that needs another would fail.
 */
export function createBundleSender({ blockEngineUrl, ...options }: BundleSenderOptions): BundleSender {
  const sender =
    blockEngineUrl === null ? createOrderedSender(options) : createBlockEngine({ ...options, url: blockEngineUrl });
  const versions = createVersionChoice(options);
  return {
    ...sender,
    terms: async (accounts, attempt = 0) => {
      const [version, computeUnitPriceMicroLamports] = await Promise.all([
        versions.current(attempt),
        readComputeUnitPrice(options, accounts, options.maxComputeUnitPrice),
      ]);
      return { version, computeUnitPriceMicroLamports, isTipped: blockEngineUrl !== null };
    },
    reportVersion1: versions.report,
    // The same over RPC, so that batches are split equally.
    maxTransactions: MAX_BUNDLE_TRANSACTIONS,
    isAtomic: blockEngineUrl !== null,
    send: async (transactions, lastValidBlockHeight) => {
      if (transactions.length === 0 || transactions.length > MAX_BUNDLE_TRANSACTIONS) {
        throw new Error(
          `A bundle has ${transactions.length} transactions; it may have 1 to ${MAX_BUNDLE_TRANSACTIONS}.`,
        );
      }
      await sender.send(transactions, lastValidBlockHeight);
    },
  };
}

function createOrderedSender(deps: Pick<BundleSenderOptions, 'chain' | 'clock' | 'signal'>): BundleCarrier {
  return {
    tip: async () => null,
    awaitTurn: async () => undefined,
    send: async (transactions, lastValidBlockHeight) => {
      for (const [position, transaction] of transactions.entries()) {
        const { err } = await sendAndConfirm(deps, transaction, lastValidBlockHeight, { until: 'processed' });
        if (err !== null) throw new BundleFailed(position, err);
      }
    },
    // RPC has no bundles: only the transactions’ own outcomes count.
    status: async () => 'pending',
  };
}
