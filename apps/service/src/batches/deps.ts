import type { BatchKind } from '@flywheel/api';
import type { Address, TransactionPartialSigner } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { BundleSender } from '../solana/bundles.ts';
import type { Chain } from '../solana/chain.ts';
import type { Db } from '../store/db.ts';
import type { Jobs } from '../store/jobs/jobs.ts';

/** What every use case may need. Holds no key that signs. */
export interface Deps {
  /** Batches of every other kind answer as if they did not exist; absent: every kind is seen. */
  readonly visibleKind?: BatchKind;
  readonly db: Db;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly log: Log;
  readonly fairUse: FairUse;
  /** An open batch that was not executed by then ends FAILED. */
  readonly batchExpirySeconds: number;
}

/** What a project may have open at once: each open batch locks the operator's rent. */
export interface FairUse {
  readonly maxOpenBatches: number;
  readonly maxOpenPipelines: number;
}

/** What the work behind the API needs besides: the signers, and a way to stop. */
export interface WorkerDeps extends Deps {
  readonly bundles: BundleSender;
  readonly operator: TransactionPartialSigner<Address>;
  /** The approver of the project in hand. */
  readonly company: TransactionPartialSigner<Address>;
  readonly noncePoolSize: number;
  /** Aborts when the process stops: the work in hand is given back and goes on elsewhere from the chain's cursor. */
  readonly signal: AbortSignal;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
