import { bundleIdOf } from '@flywheel/protocol';
import type { TransactionVersion } from '@flywheel/squads';
import type { Signature } from '@solana/kit';
import { type Batch, type Bundle, heldUp } from '../../model/batch.ts';
import { isBundleFailed, isBundleRejected } from '../../solana/bundles.ts';
import { hasExpired, pollIntervalMs, readsBlock } from '../../solana/send-and-confirm.ts';
import type { SignedTransaction } from '../../solana/transactions.ts';
import { findBundles, insertBundle, type LandedInBundle, settleBundle } from '../../store/batches/bundles.ts';
import { recordHoldUp } from '../../store/batches/executions.ts';
import { requireUnpaused } from '../../store/company/pauses.ts';
import type { Db } from '../../store/db.ts';
import { traced } from '../../telemetry/tracing.ts';
import { fencedTransaction, type RunDeps } from '../deps.ts';
import { type EngineWatch, requireSendable, watchEngine } from './engine-watch.ts';

/** Fate of a bundle, as read from the chain. */
export type Landing =
  | { readonly state: 'landed' }
  /** The transaction at this position landed and failed. Those before it may have succeeded. */
  | { readonly state: 'failed'; readonly position: number; readonly signature: Signature; readonly err: string }
  /** At least one of its transactions can no longer land, or the block engine says so: send it again. */
  | { readonly state: 'lost' };

export interface BundleToSend {
  readonly batchId: string;
  readonly phase: Bundle['phase'];
  /** Position of the first pipeline it executes; absent in phases other than the execution. */
  readonly firstPipeline?: number;
  /** Number of pipelines that each transaction executes. */
  readonly pipelineCounts?: readonly number[];
  readonly transactions: readonly SignedTransaction[];
  readonly version: TransactionVersion;
  readonly lastValidBlockHeight: bigint;
  readonly tipLamports: bigint;
  /** Writes more in the transaction that records the bundle. */
  readonly onRecord?: ((trx: Db) => Promise<void>) | undefined;
}

/**
 * Records a bundle, sends it and waits for its fate. Its row is committed before anything is sent.
 * @param onProcessed is called once a block of the node has all of its transactions, which a fork may still take away.
 * @throws Paused, Cancelled, Ended before anything is recorded or sent.
 */
export async function landBundle(
  deps: RunDeps,
  toSend: BundleToSend,
  onProcessed: () => void = () => undefined,
): Promise<Landing> {
  const { batchId, phase, transactions } = toSend;
  const attributes = {
    'flywheel.batch.id': batchId,
    'flywheel.phase': phase,
    'flywheel.transactions': transactions.length,
  };
  return traced(`bundle ${phase}`, attributes, async () => {
    const stopTimer = deps.metrics.bundleSeconds.startTimer({ phase });
    const landing = await sendBundle(deps, toSend, onProcessed);
    stopTimer({ outcome: landing.state });
    return landing;
  });
}

async function sendBundle(deps: RunDeps, toSend: BundleToSend, onProcessed: () => void): Promise<Landing> {
  const { transactions, version, firstPipeline = 0, pipelineCounts = [], onRecord, ...rest } = toSend;
  const signatures = transactions.map(({ signature }) => signature);
  const newBundle = {
    ...rest,
    firstPipeline,
    pipelineCounts,
    bundleId: bundleIdOf(signatures),
    isAtomic: deps.bundles.isAtomic,
    transactions: transactions.map(({ wire }) => wire),
    signatures,
    createdAt: deps.clock.now(),
  };
  const bundle = await fencedTransaction(deps, async (trx) => {
    await requireSendable(trx, deps, newBundle);
    await onRecord?.(trx);
    return insertBundle(trx, newBundle);
  });
  return sendRecorded(deps, bundle, version, onProcessed);
}

async function sendRecorded(
  deps: RunDeps,
  bundle: Bundle,
  version: TransactionVersion,
  onProcessed: () => void,
): Promise<Landing> {
  try {
    await deps.bundles.send(bundle.transactions, bundle.lastValidBlockHeight);
  } catch (error) {
    // The chain decides, not the sender: a request may time out after the engine has accepted the bundle.
    const level = isBundleFailed(error) ? 'info' : 'warn';
    deps.log[level](
      { batchId: bundle.batchId, bundleId: bundle.bundleId, err: error },
      'the bundle was not accepted completely',
    );
    if (version === 1 && isBundleRejected(error)) {
      deps.bundles.reportVersion1('rejected');
      return { state: 'lost' };
    }
  }
  const landing = await pollBundle(deps, bundle, { isWatched: true, trustEngine: true, onProcessed });
  // A transaction that failed on chain shows that the cluster accepts version 1.
  if (version === 1) deps.bundles.reportVersion1(landing.state === 'lost' ? 'lost' : 'landed');
  return landing;
}

/**
 * Sends the bundles of one phase of a batch that are in flight again, and follows them. A process that died may have recorded
 * a bundle without sending it, which would hold up the project until its blockhash has expired. The signatures are the same,
 * so the chain executes each transaction once.
 * @throws Paused before anything is sent.
 */
export async function resumeBundles(deps: RunDeps, { id }: Pick<Batch, 'id'>, phase: Bundle['phase']): Promise<void> {
  for (const bundle of await findBundles(deps.db, id, phase)) {
    if (bundle.state === 'sent') await resumeBundle(deps, bundle);
  }
}

async function resumeBundle(deps: RunDeps, bundle: Bundle): Promise<Landing> {
  await deps.turn.awaitBundle(deps.bundles);
  await fencedTransaction(deps, (trx) => requireUnpaused(trx, deps.run.flywheelId));
  return deps.turn.pause(async () => {
    try {
      await deps.bundles.send(bundle.transactions, bundle.lastValidBlockHeight);
    } catch (error) {
      // It may have landed, or its blockhash may have expired: the chain says which.
      deps.log.info(
        { batchId: bundle.batchId, bundleId: bundle.bundleId, err: error },
        'a resumed bundle was not accepted',
      );
    }
    return pollBundle(deps, bundle, { isWatched: true });
  });
}

/** Half a slot. */
const MAX_POLL_INTERVAL_MS = 200;

/** Waits for the fate of a sent bundle while other jobs work. */
export function followBundle(deps: RunDeps, bundle: Bundle): Promise<Landing> {
  return deps.turn.pause(() => pollBundle(deps, bundle));
}

interface PollOptions {
  /** Sends the bundle again if the block engine has forgotten it. */
  readonly isWatched?: boolean;
  /**
   * Ends the wait also when the block engine reports a failure. Sending again is safe then, because the chain refuses a
   * repetition; the bundle stays `sent`, because it may still land.
   */
  readonly trustEngine?: boolean;
  readonly onProcessed?: () => void;
}

/** Waits until every transaction of a sent bundle has landed, one has failed, or the rest can no longer land. */
async function pollBundle(deps: RunDeps, bundle: Bundle, options: PollOptions = {}): Promise<Landing> {
  const watch = options.isWatched === true ? watchEngine(deps, bundle) : null;
  try {
    return await pollWatched(deps, bundle, watch, options);
  } finally {
    watch?.stop();
  }
}

async function pollWatched(
  deps: RunDeps,
  bundle: Bundle,
  watch: EngineWatch | null,
  { trustEngine = false, onProcessed }: PollOptions,
): Promise<Landing> {
  const { chain, clock, signal } = deps;
  const { signatures } = bundle;
  const slowAtMs = clock.now().getTime() + SLOW_MS;
  let isSlowReported = false;
  for (let polls = 0; ; polls += 1) {
    signal.throwIfAborted();
    // Before the statuses, as `hasExpired` needs it.
    const finalized = readsBlock(polls) ? await chain.finalizedBlock() : null;
    const { contextSlot, outcomes } = await chain.signatureOutcomes(signatures);
    const confirmed = outcomes.map((outcome) => outcome !== 'unknown' && outcome.confirmation !== 'processed');
    const slots = outcomes.flatMap((outcome, i) => (confirmed[i] && outcome !== 'unknown' ? [outcome.slot] : []));
    const landed = {
      signatures: signatures.filter((_, i) => confirmed[i] && errorOf(outcomes[i]) === null),
      slot: slots.reduce<bigint | null>((last, slot) => (last === null || slot > last ? slot : last), null),
    };
    const position = outcomes.findIndex((outcome, i) => confirmed[i] && errorOf(outcome) !== null);
    if (landed.signatures.length === signatures.length) return settle(deps, bundle, landed, { state: 'landed' });
    if (outcomes.every((outcome) => outcome !== 'unknown' && outcome.err === null)) onProcessed?.();
    const signature = signatures[position];
    if (signature !== undefined) {
      const err = errorOf(outcomes[position]) ?? '';
      return settle(deps, bundle, landed, { state: 'failed', position, signature, err });
    }
    if (finalized !== null && hasExpired(finalized, contextSlot, bundle.lastValidBlockHeight)) {
      return settle(deps, bundle, landed, { state: 'lost' });
    }
    if (trustEngine && watch?.hasFailed()) return { state: 'lost' };
    watch?.poll(outcomes.every((outcome) => outcome !== 'unknown'));
    if (bundle.phase !== 'execution' && !isSlowReported && clock.now().getTime() >= slowAtMs) {
      await reportSlow(deps, bundle);
      isSlowReported = true;
    }
    await clock.sleep(pollIntervalMs(polls, MAX_POLL_INTERVAL_MS), signal);
  }
}

/** A bundle lands within seconds, or when its blockhash has expired, after a minute or more, it is known to be lost. */
const SLOW_MS = 15_000;

/** Shows that a setup waits for a bundle: on its batch, and on those behind it, also behind one whose index is burned. */
async function reportSlow(deps: RunDeps, { batchId, bundleId }: Bundle): Promise<void> {
  const issue = heldUp(
    'the cluster has not taken its transactions yet. They are sent again once they can no longer land.',
  );
  await fencedTransaction(deps, (trx) => recordHoldUp(trx, deps.run, batchId, issue, deps.clock.now()));
  deps.log.warn({ batchId, bundleId, afterMs: SLOW_MS }, 'a bundle of a setup has not landed yet');
}

/** Waits for the fate of every bundle of a batch that is still in flight, of all phases or of one. */
export async function settleBundles(deps: RunDeps, { id }: Pick<Batch, 'id'>, phase?: Bundle['phase']): Promise<void> {
  for (const bundle of await findBundles(deps.db, id, phase)) {
    if (bundle.state === 'sent') await followBundle(deps, bundle);
  }
}

function errorOf(outcome: 'unknown' | { readonly err: string | null } | undefined): string | null {
  return outcome === undefined || outcome === 'unknown' ? null : outcome.err;
}

async function settle(deps: RunDeps, bundle: Bundle, landed: LandedInBundle, landing: Landing): Promise<Landing> {
  const state = landing.state === 'landed' ? 'landed' : 'failed';
  const { phase } = bundle;
  const isFirst = await fencedTransaction(deps, (trx) => settleBundle(trx, bundle.id, state, landed, deps.clock.now()));
  if (isFirst) {
    deps.metrics.bundlesSettled.inc({ phase, outcome: landing.state });
    if (landing.state === 'landed') deps.metrics.tipLamports.inc({ phase }, Number(bundle.tipLamports));
  }
  return landing;
}
