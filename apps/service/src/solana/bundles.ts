import { createHash } from 'node:crypto';
import type { TransactionVersion } from '@flywheel/squads';
import type { Address, Base64EncodedWireTransaction, Instruction, Signature } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import { createBlockEngine } from './block-engine.ts';
import type { Chain } from './chain.ts';
import { readComputeUnitPrice } from './priority-fee.ts';
import { RpcRefusal } from './rpc/refusal.ts';
import type { Warn } from './rpc/transport.ts';
import { sendAndConfirm } from './send-and-confirm.ts';
import { createVersionChoice, type VersionChoice } from './version-choice.ts';

/** Sends transactions that belong together, in order. */
export interface BundleSender {
  readonly maxTransactions: number;
  /** All or nothing. */
  readonly isAtomic: boolean;
  /**
   * What the last transaction of a bundle must hold besides, so that the bundle is taken; null for nothing. `attempt`
   * counts the sendings of the same work that came to nothing: each doubles the tip, up to its cap.
   */
  tip(payer: Address, attempt?: number): Promise<Instruction | null>;
  /** For what the service alone signs. `attempt` as of the tip. */
  terms(accounts: readonly Address[], attempt?: number): Promise<SendingTerms>;
  /** What became of a bundle with transactions of version 1: where they do not land, `terms` names 0. */
  reportVersion1: VersionChoice['report'];
  /**
   * Resolves when the transactions are accepted; whether they land is for the chain to say.
   * @throws BundleRejected when one of them is known to have landed and failed.
   */
  send(transactions: readonly Base64EncodedWireTransaction[]): Promise<void>;
  /** A hint to be checked on chain: blocks that are dropped can unbundle a bundle. */
  status(bundleId: string): Promise<BundleStatus>;
}

export interface SendingTerms {
  readonly version: TransactionVersion;
  /** What transactions that write these accounts pay of late, within a cap. */
  readonly computeUnitPriceMicroLamports: bigint;
}

export type BundleStatus = 'pending' | 'landed' | 'failed';

export interface BundleSenderOptions {
  readonly chain: Chain;
  /** Of Jito’s JSON-RPC, with or without its path; null sends over the chain’s RPC. */
  readonly blockEngineUrl: string | null;
  readonly clock: Clock;
  readonly log?: Warn;
  /** Ends waits for confirmation. */
  readonly signal?: AbortSignal;
  /** The most a bundle’s tip may be, in lamports; 100,000 by default. */
  readonly maxTipLamports?: bigint;
  /** The most that a compute unit may be offered, in micro-lamports; 100,000 by default. */
  readonly maxComputeUnitPrice?: bigint;
  /** The least time between requests to the block engine; 1,000 ms by default, what Jito grants without an agreement. */
  readonly requestIntervalMs?: number;
  /** In [0, 1). Picks the tip account. */
  readonly random?: () => number;
}

/** A transaction of a bundle landed and failed; those before it stand, those after it were not sent. */
export class BundleRejected extends Error {
  /** Zero-based, in the bundle. */
  readonly position: number;
  /** JSON text of the TransactionError. */
  readonly err: string;

  constructor(position: number, err: string) {
    super(`Transaction ${position} of the bundle failed on chain: ${err}`);
    this.name = 'BundleRejected';
    this.position = position;
    this.err = err;
  }
}

export function isBundleRejected(error: unknown): error is BundleRejected {
  return error instanceof BundleRejected;
}

/** Whether who was sent a bundle has said no to it, rather than nothing or that it is busy. */
export function isBundleRefused(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof RpcRefusal;
}

/** Jito’s formula: lowercase hex SHA-256 of the transactions’ first signatures, in base58, joined by commas. */
export function bundleIdOf(signatures: readonly Signature[]): string {
  return createHash('sha256').update(signatures.join(',')).digest('hex');
}

/**
 * The block engine where there is one: all or nothing, in one slot. Otherwise each transaction goes out over RPC once
 * the one before it is confirmed.
 */
export function createBundleSender({ blockEngineUrl, ...options }: BundleSenderOptions): BundleSender {
  const sender =
    blockEngineUrl === null
      ? createOrderedSender(options)
      : createBlockEngine({ ...options, url: blockEngineUrl, bundleIdOf });
  const { maxComputeUnitPrice = MAX_COMPUTE_UNIT_PRICE } = options;
  const versions = createVersionChoice(options);
  return {
    ...sender,
    terms: async (accounts, attempt = 0) => {
      const [version, computeUnitPriceMicroLamports] = await Promise.all([
        versions.current(attempt),
        readComputeUnitPrice(options, accounts, maxComputeUnitPrice),
      ]);
      return { version, computeUnitPriceMicroLamports };
    },
    reportVersion1: versions.report,
    maxTransactions: MAX_TRANSACTIONS,
    isAtomic: blockEngineUrl !== null,
    send: async (transactions) => {
      if (transactions.length === 0 || transactions.length > MAX_TRANSACTIONS) {
        throw new Error(`A bundle of ${transactions.length} transactions; it may have 1 to ${MAX_TRANSACTIONS}.`);
      }
      await sender.send(transactions);
    },
  };
}

/** What the block engine accepts (docs.jito.wtf, bundles); over RPC the same, so that batches split alike. */
const MAX_TRANSACTIONS = 5;
/** 140,000 lamports for all units that a transaction may use. */
const MAX_COMPUTE_UNIT_PRICE = 100_000n;
/** A blockhash that is valid when a bundle is sent is dead this many blocks later (Agave, MAX_PROCESSING_AGE). */
const BLOCKHASH_LIFE_BLOCKS = 150n;

function createOrderedSender(
  deps: Pick<BundleSenderOptions, 'chain' | 'clock' | 'signal'>,
): Pick<BundleSender, 'tip' | 'send' | 'status'> {
  return {
    tip: async () => null,
    send: async (transactions) => {
      const lastValidBlockHeight = (await deps.chain.blockHeight()) + BLOCKHASH_LIFE_BLOCKS;
      for (const [position, transaction] of transactions.entries()) {
        const { err } = await sendAndConfirm(deps, transaction, lastValidBlockHeight);
        if (err !== null) throw new BundleRejected(position, err);
      }
    },
    // RPC knows no bundles: only the transactions’ own outcomes tell.
    status: async () => 'pending',
  };
}
