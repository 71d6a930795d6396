import type { RegistrationMode } from '@flywheel/api';
import type { Address, TransactionPartialSigner } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Log } from '../model/log.ts';
import type { BundleSender } from '../solana/bundles.ts';
import type { Chain, ChainView } from '../solana/chain.ts';
import { type Run, requireRun } from '../store/batches/runs.ts';
import type { Db } from '../store/db.ts';
import type { Jobs } from '../store/jobs/jobs.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caps, FairUse } from './caps.ts';
import type { Prices } from './exposure.ts';
import type { NonceQueue } from './nonce-queue.ts';
import type { Turn } from './turn.ts';

/** Dependencies and settings of the use cases. None of them can sign. */
export interface Deps {
  readonly db: Db;
  readonly jobs: Pick<Jobs, 'enqueue' | 'enqueueAll'>;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly nonceQueue: NonceQueue;
  readonly fairUse: FairUse;
  readonly caps: Caps;
  /** The highest prices that a worker pays. */
  readonly prices: Prices;
  /** The wallets that may decide for the company. */
  readonly companyOperators: ReadonlySet<Address>;
  /** Seconds after which an open batch that was not executed ends FAILED. */
  readonly batchExpirySeconds: number;
  /** The projects that are served: all, or those that the company has admitted. */
  readonly registration: RegistrationMode;
}

/** Dependencies of the worker: the operator's signer, the bundle sender and a stop signal. */
export interface WorkerDeps extends Deps {
  readonly bundles: BundleSender;
  /** The operator: in a job of a batch the one of its multisig, otherwise the present one. */
  readonly operator: TransactionPartialSigner<Address>;
  /** The operator before, while projects or nonces may still have it. */
  readonly previousOperator: TransactionPartialSigner<Address> | null;
  readonly noncePool: NoncePool;
  /** Seconds that an approved rotation waits for open batches before it ends them. */
  readonly rotationGraceSeconds: number;
  /** Aborts when the process stops. Another worker then continues from the cursor on chain. */
  readonly signal: AbortSignal;
}

/** Bounds of the nonces of one operator. */
export interface NoncePool {
  /** Free nonces that all projects share, at rest. */
  readonly size: number;
  /** Nonces of one share, the leased ones included. */
  readonly max: number;
  /** Free nonces of each admitted project's own, at rest. */
  readonly perAdmitted: number;
}

export interface PresentKeys {
  readonly operator: Address;
  readonly company: Address;
}

/** Worker dependencies plus what belongs to one job: the node that answers it, the company's signer, the keys and the run. */
export interface RunDeps extends WorkerDeps {
  readonly chain: ChainView;
  readonly company: TransactionPartialSigner<Address>;
  /** The keys that this worker's settings give to new projects: a rotation may replace its own keys by these only. */
  readonly presentKeys: PresentKeys;
  /** Fencing token: a newer run of the same multisig and lane invalidates it. */
  readonly run: Run;
  /** Lets other jobs work while this one waits for the chain. */
  readonly turn: Turn;
}

/**
 * Runs a database transaction only if this run is still the current one of its lane, so that a worker that was
 * delayed until another took over changes nothing.
 * @param options as of `requireRun`.
 * @throws StaleRun
 */
export function fencedTransaction<T>(
  { db, run }: RunDeps,
  write: (trx: Db) => Promise<T>,
  options: { readonly locksFlywheel?: boolean } = {},
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await requireRun(trx, run, options);
    return write(trx);
  });
}
